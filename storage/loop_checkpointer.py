"""`LoopCheckpointer`: what all our checkpointers share: the serializer, and each call for sync code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import INTERRUPT

from ..state.errors import StorageUnreachable
from ..state.messages import clean, is_empty
from .archive import Archive
from .checkpoint_order import follow
from .damaged_checkpoints import newest_readable
from .loop_thread import io_thread
from .message_serializer import MessageSerializer
from .server_user import server_user
from .sparse_checkpoints import Passing, Step, Stored, Writes, is_away, run_of
from .storage import Storage
from .thread_copy import copy_archive, owner_of
from .unwritten import Write
from .user_rows import UserRows

Fence = tuple[Any, Mapping[str, Any]] | None
"""What fails where the claim of a thread is lost, that held when a step was made: see `Storage.fence`."""


def own_saver(saver: object) -> LoopCheckpointer | None:
    """The checkpointer of everthread that this is; None for one of another make.

    A LangGraph server puts an adapter around it, which hands on what it does not know.
    """
    found = getattr(saver, "own", None)
    return found if isinstance(found, LoopCheckpointer) else None


class LoopCheckpointer(BaseCheckpointSaver[str]):
    """A checkpointer that works on the database's loop, whatever loop it is called from.

    Of a run of everthread it stores what `sparse_checkpoints` says; of any other each step.

    Args:
        storage: where the checkpoints are kept.
        serde: how values become bytes.

    Attributes:
        before_deletion: called with a thread whose checkpoints are about to be deleted, by a LangGraph server say.
    """

    def __init__(self, storage: Storage, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde or MessageSerializer())
        self._storage = storage
        self._unwritten = storage.unwritten
        self.before_deletion: Callable[[str], Awaitable[None]] | None = None

    @property
    def own(self) -> LoopCheckpointer:
        """Itself, also through what stands around it: see `own_saver`."""
        return self

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints of a thread. What was said in it stays in the archive, but for `before_deletion`."""
        await self._refuse_foreign(thread_id)
        if self.before_deletion is not None:
            await self.before_deletion(thread_id)
        self._unwritten.forget(thread_id)
        self._storage.held.pop(thread_id)
        await self._delete_thread(thread_id)

    @abstractmethod
    async def _delete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints of a thread."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the config names, or the newest of its thread.

        Where the storage does not answer, and where it has not taken yet what a turn left, it is what is held of it.
        """
        thread_id, held = config["configurable"]["thread_id"], self._storage.held
        if (is_away(config) or held.is_ahead(thread_id)) and (found := held.found(config)) is not None:
            return found
        try:
            await self.caught_up(thread_id)
            found = await newest_readable(lambda: self._get_tuple(config), config, self._storage)
            if found is not None:
                follow(found.checkpoint["id"])
            return found  # noqa: TRY300  # beside the call that may fail
        except StorageUnreachable:
            if (found := held.found(config)) is None:
                raise
            return found

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread to another: its checkpoints, and what the archive has of it."""
        await self._refuse_foreign(source_thread_id)
        await self.caught_up(source_thread_id)
        await self._copy_thread({"from": source_thread_id, "to": target_thread_id})
        await copy_archive(self._storage, source_thread_id, target_thread_id)

    @abstractmethod
    async def _copy_thread(self, names: Mapping[str, str]) -> None:
        """Copy the checkpoints of the thread `from` to the thread `to`."""

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the newest checkpoint of each thread, or ("delete") the threads."""
        for thread_id in thread_ids:
            if strategy in {"delete", "delete_all"}:
                await self.adelete_thread(thread_id)
            else:
                await self._keep_newest(thread_id)

    @abstractmethod
    async def _keep_newest(self, thread_id: str) -> None:
        """Delete all but the newest checkpoint of a thread."""

    @abstractmethod
    async def _get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the config names, or the newest of its thread."""

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, where something would be lost without it; returns the config that names it.

        Raises:
            ThreadOwnershipError: the thread belongs to another user than the one whom the server knows.
            StorageError: the storage fails.
        """
        await self._refuse_foreign(config["configurable"]["thread_id"], config)
        step = Step(config, checkpoint, metadata, new_versions, [])
        run = run_of(config)
        stored = Stored(step) if run is None else run.take(step)
        if stored is not None and not is_away(config):
            fence = self._fence(config)
            # A question that cannot be stored is refused before it is answered; what follows it has cost something.
            may_wait = metadata.get("source") == "loop"
            await self._write(config, lambda: self._store(stored, fence), stored.step, may_wait=may_wait)
        if run is not None:
            self._storage.held.note(run, step)
        where = {name: config["configurable"].get(name, "") for name in ("thread_id", "checkpoint_ns")}
        return {"configurable": {**where, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote before its step was complete, where it cannot be made again. Errors as for `aput`."""
        await self._refuse_foreign(config["configurable"]["thread_id"], config)
        if is_away(config):
            if any(channel == INTERRUPT for channel, _ in writes):
                raise StorageUnreachable("The storage does not answer, and what a turn asks for cannot be kept: later.")
            return
        run, made, fence = run_of(config), Writes(writes, task_id, task_path), self._fence(config)
        stored = True if run is None else run.take_writes(config["configurable"]["checkpoint_id"], made)
        if isinstance(stored, Stored):
            await self._write(config, lambda: self._store(stored, fence), stored.step)
        elif stored:
            await self._write(config, lambda: self._put_writes(config, made, fence))

    async def _refuse_foreign(self, thread_id: str, config: RunnableConfig | None = None) -> None:
        """Refuse what a server's user would do to the state of another's thread, whatever graph it runs there.

        A run of everthread has claimed its thread before it begins.
        """
        is_claimed = config is not None and run_of(config) is not None
        if not is_claimed and (user_id := server_user(config)) is not None:
            await Archive(UserRows(self._storage, user_id)).refuse_foreign(thread_id)

    async def caught_up(self, thread_id: str | None = None) -> None:
        """Write what a storage that did not answer has yet to take.

        Raises:
            StorageError: it does not take what waits of this thread.
        """
        await io_thread.run(self._unwritten.catch_up(thread_id))

    async def closed(self) -> None:
        """Write what waits, before the storage is closed; what cannot be written is logged."""
        await self.caught_up()
        self._unwritten.give_up()

    async def _write(
        self, config: RunnableConfig, work: Write, step: Step | None = None, *, may_wait: bool = True
    ) -> None:
        if may_wait and run_of(config) is not None:
            late = partial(self._too_late, step) if step is not None else None
            await io_thread.run(self._unwritten.write(config["configurable"]["thread_id"], work, late))
        else:
            await self.caught_up(config["configurable"]["thread_id"])
            await work()

    def _fence(self, config: RunnableConfig) -> Fence:
        return self._storage.fence(config["configurable"]["thread_id"])

    async def _too_late(self, step: Step) -> None:
        """What another process has overtaken while it waited: its messages go into the archive all the same."""
        thread_id, messages = (
            step.config["configurable"]["thread_id"],
            step.checkpoint["channel_values"].get("messages"),
        )
        if messages and (owner := await owner_of(self._storage, thread_id)) is not None:
            said = [message for message in messages if not is_empty(message)]
            await Archive(UserRows(self._storage, owner)).offer_messages(thread_id, said)

    async def _store(self, stored: Stored, fence: Fence) -> None:
        step = stored.step._replace(metadata=cast("CheckpointMetadata", clean(dict(stored.step.metadata))))
        await self._put(step, stored.replaces, fence)
        at: RunnableConfig = {
            **step.config,
            "configurable": {**step.config["configurable"], "checkpoint_id": step.checkpoint["id"]},
        }
        for writes in step.writes:
            if writes.must_be_stored:
                await self._put_writes(at, writes, fence)

    @abstractmethod
    async def _put(self, step: Step, replaces: Sequence[Passing], fence: Fence) -> None:
        """Store a checkpoint, and delete those that it replaces."""

    @abstractmethod
    async def _put_writes(self, config: RunnableConfig, writes: Writes, fence: Fence) -> None:
        """Store what a task wrote."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`aget_tuple`, blocking."""
        return io_thread.run_sync(self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """`alist`, blocking."""

        async def read() -> Collection[CheckpointTuple]:
            return [found async for found in self.alist(config, filter=filter, before=before, limit=limit)]

        yield from io_thread.run_sync(read())

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`aput`, blocking."""
        return io_thread.run_sync(self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """`aput_writes`, blocking."""
        io_thread.run_sync(self.aput_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """`adelete_thread`, blocking."""
        io_thread.run_sync(self.adelete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`adelete_for_runs`, blocking."""
        io_thread.run_sync(self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`acopy_thread`, blocking."""
        io_thread.run_sync(self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`aprune`, blocking."""
        io_thread.run_sync(self.aprune(thread_ids, strategy=strategy))
