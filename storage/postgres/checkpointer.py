"""The checkpointer: LangGraph's Postgres saver on our pool, usable from any loop, sync and async.

`langgraph.json` names `checkpointer` below, so that the server keeps its threads in the same place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from ...settings.settings import Settings
from ..damaged_checkpoints import UntilDamaged, newest_readable
from ..loop_checkpointer import LoopCheckpointer
from ..loop_thread import io_thread
from ..sealed_checkpoints import cipher_of, open_inline, seal_inline, sealed_serializer, with_keys
from ..sparse_checkpoints import Passing, Step, Writes
from ..storage import Storage
from ..thread_copy import copy_archive
from .database import Database, Pool

T = TypeVar("T")

_DELETE_RUNS = (
    "DELETE FROM checkpoint_writes w USING checkpoints c WHERE c.metadata->>'run_id' = ANY(%s) "
    "AND w.thread_id = c.thread_id AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.checkpoint_id",
    "DELETE FROM checkpoints WHERE metadata->>'run_id' = ANY(%s)",
)
_COPY_THREAD = (
    "INSERT INTO checkpoints SELECT %(to)s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, "
    "metadata FROM checkpoints WHERE thread_id = %(from)s ON CONFLICT DO NOTHING",
    "INSERT INTO checkpoint_blobs SELECT %(to)s, checkpoint_ns, channel, version, type, blob "
    "FROM checkpoint_blobs WHERE thread_id = %(from)s ON CONFLICT DO NOTHING",
    "INSERT INTO checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, "
    "task_path) SELECT %(to)s, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path "
    "FROM checkpoint_writes WHERE thread_id = %(from)s ON CONFLICT DO NOTHING",
)


_REPLACED = (
    "DELETE FROM checkpoint_writes WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = ANY(%s)",
    "DELETE FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = ANY(%s)",
)
_BLOBS_REPLACED = (
    "DELETE FROM checkpoint_blobs WHERE thread_id = %s AND checkpoint_ns = %s "
    "AND (channel, version) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
)


class PostgresCheckpointer(LoopCheckpointer):
    """Checkpoints in the pool of a `Database`, on that database's own loop.

    Each call takes a connection for as long as its statements run, and none between them. A connection lost in
    between is replaced once; every statement is an upsert, so doing it twice changes nothing.

    Args:
        database: where the checkpoints are kept.
        serde: how values become bytes.
    """

    def __init__(self, database: Database, serde: SerializerProtocol | None = None) -> None:
        super().__init__(database, serde)
        self._database = database

    async def _call(self, work: Callable[[AsyncPostgresSaver], Awaitable[T]], thread_id: str | None = None) -> T:
        keys = self._database.keys
        serde = sealed_serializer(keys, await cipher_of(keys, thread_id), self.serde)

        async def with_saver(pool: Pool) -> T:
            # A saver for one call: one that lives longer would let calls wait for each other.
            return await work(AsyncPostgresSaver(cast("Any", pool), serde=serde))

        return await with_keys(keys, lambda: io_thread.run(self._database.on_pool(with_saver)))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the config names, or the newest of its thread."""
        await self.caught_up(config["configurable"]["thread_id"])

        async def read(saver: AsyncPostgresSaver) -> CheckpointTuple | None:
            found = await saver.aget_tuple(config)
            return found and open_inline(self._database.keys, found)

        return await newest_readable(lambda: self._call(read), config, self._database)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # the base class names it so
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints, the newest first."""
        await self.caught_up(config["configurable"]["thread_id"] if config else None)

        async def read(saver: AsyncPostgresSaver) -> list[CheckpointTuple]:
            with UntilDamaged(config, self._database) as listed:
                async for found in saver.alist(config, filter=filter, before=before, limit=limit):
                    listed.append(open_inline(self._database.keys, found))
            return listed

        for found in await self._call(read):
            yield found

    async def _put(self, step: Step, replaces: Sequence[Passing]) -> None:
        thread_id = step.config["configurable"]["thread_id"]
        cipher = await self._database.keys.of_thread(thread_id)
        checkpoint = step.checkpoint if cipher is None else seal_inline(cipher, step.checkpoint)

        async def work(saver: AsyncPostgresSaver) -> None:
            await saver.aput(step.config, checkpoint, step.metadata, step.versions)
            if replaces:
                async with saver._cursor(pipeline=True) as cursor:  # the saver has no call for this
                    for query, values in _replacing(step, replaces):
                        await cursor.execute(query, values)

        await self._call(work, thread_id)

    async def _put_writes(self, config: RunnableConfig, writes: Writes) -> None:
        await self._call(
            lambda saver: saver.aput_writes(config, writes.values, writes.task_id, writes.task_path),
            config["configurable"]["thread_id"],
        )

    async def _delete_thread(self, thread_id: str) -> None:
        await self._call(lambda saver: saver.adelete_thread(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made."""

        async def work(connection: Any) -> None:
            for query in _DELETE_RUNS:
                await connection.execute(query, (list(run_ids),))

        await self._database.run(work)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread to another: its checkpoints, and what the archive has of it."""
        await self.caught_up(source_thread_id)

        async def work(connection: Any) -> None:
            for query in _COPY_THREAD:
                await connection.execute(query, {"from": source_thread_id, "to": target_thread_id})

        await self._database.run(work)
        await copy_archive(self._database, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the newest checkpoint of each thread, or ("delete") all of them."""
        strategy = "delete" if strategy == "delete_all" else strategy
        await self._call(lambda saver: saver.aprune(thread_ids, strategy=strategy))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The version after `current`, as the Postgres saver numbers them."""
        return AsyncPostgresSaver.get_next_version(cast("Any", self), current, channel)


def _replacing(step: Step, replaces: Sequence[Passing]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The statements that delete what a step replaces, with what only that has."""
    where = (step.config["configurable"]["thread_id"], step.config["configurable"].get("checkpoint_ns", ""))
    for query in _REPLACED:
        yield query, (*where, [passing.id for passing in replaces])
    current = step.checkpoint["channel_versions"]
    old = [(name, str(of)) for passing in replaces for name, of in passing.versions.items() if current.get(name) != of]
    yield _BLOBS_REPLACED, (*where, [name for name, _ in old], [of for _, of in old])


@lru_cache(maxsize=1)
def shared_database() -> Storage:
    """The storage that the served graph and its checkpointer share, from the environment's settings."""
    from ..open import storage_of  # which knows this module

    return storage_of(Settings())


forgetting: list[Callable[[str], Awaitable[None]]] = []
"""What the server does before the checkpoints of a thread are deleted: see `everthread.server.app`."""


async def _before_deletion(thread_id: str) -> None:
    for forget in forgetting:
        await forget(thread_id)


@asynccontextmanager
async def checkpointer() -> AsyncIterator[LoopCheckpointer]:
    """The checkpointer that `langgraph.json` names: that of the environment's settings.

    Raises:
        StorageError: the storage cannot be started or reached.
    """
    from ..open import checkpointer_of

    storage = shared_database()
    await storage.open()
    saver = checkpointer_of(storage)
    saver.before_deletion = _before_deletion
    try:
        yield saver
    finally:
        await saver.closed()
        await storage.close()
