"""`Conversation`: the compiled graph, which checks what comes in before the state of a thread is touched."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot, StateUpdate

from ..runtime.forget import Found, forget
from ..runtime.forget_savers import foreign, scrub_saver
from ..runtime.forget_wanted import part_named, whole_threads
from ..runtime.resources import Resources
from ..runtime.run_settings import authenticated_user, names_user
from ..state.errors import StorageUnreachable
from ..state.messages import read_input
from ..state.records import Deleted
from ..state.update import TURN_CHANNELS
from ..storage.archive import ArchivedMessage
from ..storage.loop_thread import blocking, node_thread
from .in_turn import parts_of, parts_of_sync
from .node import runtime_of
from .recognition import note_branch
from .removed import forget_removed
from .run import read_run
from .time_travel import names_checkpoint, there
from .typed import TypedConversation

logger = logging.getLogger(__name__)

CompiledConversation = CompiledStateGraph[Any, Any, Any, Any]
"""The compiled graph. Input and context are open to what LangGraph takes: messages as pairs, the context as a dict."""


class Conversation(TypedConversation):
    """A compiled LangGraph graph that does three things before each turn, before the thread's state is touched.

    It refuses a message that cannot be read or answered. It claims the thread for the user, or refuses the turn. And it
    recognizes what was said already: a message sent again, the whole history sent again.

    It also waits for a turn that runs in the same thread, and with the locks of `open_graph` in another process.
    """

    def __init__(self, *, resources: Resources, **compiled: Any) -> None:
        compiled.pop("__orig_class__", None)
        super().__init__(**compiled)
        self.resources = resources
        # What describes one turn alone is for nodes: clients see it in the report.
        self.stream_channels = [
            name for name in self.channels if name in self.builder.channels and name not in TURN_CHANNELS
        ]

    async def adelete(self, user_id: str, thread_id: str | None = None) -> Deleted:
        """Delete a thread of a user, or all of their threads, with everything that was made from them.

        Raises:
            InputError: the user has no such thread.
            EverthreadError: something failed, and nothing was deleted.
        """
        user = self.resources.of_user(user_id)
        wanted = await whole_threads(user, thread_id)
        return await forget(user, wanted, asked_by="program", locks=self.resources.locks, also=self.scrub)

    delete = blocking(adelete)

    async def aforget(
        self,
        user_id: str,
        thread_id: str | None = None,
        *,
        messages: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        fact: str | None = None,
    ) -> Deleted:
        """Forget a part of what a user said, with all that was made from it: messages, a span of time, or a fact.

        Summaries above it are rewritten from what is left. Whole threads: `adelete`.

        Args:
            user_id: whose.
            thread_id: where the messages were said; of a span of time, the only thread.
            messages: their ids.
            since: from this moment on.
            until: before this moment.
            fact: the id of a fact or pin, which goes with the messages that say it.

        Raises:
            InputError: not one of these is named, or it is not there.
            EverthreadError: something failed, and nothing was forgotten.
        """
        user = self.resources.of_user(user_id)
        wanted = await part_named(user, thread_id, messages=messages, since=since, until=until, fact=fact)
        return await forget(user, wanted, asked_by="program", locks=self.resources.locks, also=self.scrub)

    forget = blocking(aforget)

    async def ahistory(
        self, user_id: str, thread_id: str, *, before: str | None = None, limit: int = 50, with_left: bool = False
    ) -> list[ArchivedMessage]:
        """A page of what was said in a thread, in the order it was said: the newest messages, or those before one.

        The `messages` of the state are the newest `visible_messages` of the same conversation.

        Args:
            user_id: whose thread.
            thread_id: its id.
            before: the id of the message before which the page ends; the first of a page brings the page before it.
            limit: messages, at most.
            with_left: whether what has left the conversation is among them: edited, removed, or of an earlier branch.

        Raises:
            StorageError: the storage cannot be reached.
        """
        archive = self.resources.of_user(user_id).archive
        return await archive.page(thread_id, before=before, limit=limit, with_left=with_left)

    history = blocking(ahistory)

    async def asettled(self) -> None:
        """Wait until all that was said is embedded and read for facts, which goes on after each turn."""
        await self.resources.background.settled()

    settled = blocking(asettled)

    # The signatures are LangGraph's own, which has several for each of the two methods.
    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:  # noqa: A002
        """LangGraph's `stream`, when it is this turn's turn.

        Raises:
            InputError: there is no message, or it is empty or cannot be read; or the thread id cannot be used.
            SettingsError: the context holds a value that is not allowed.
            ThreadOwnershipError: the thread belongs to another user.
            OverloadError: too many turns run and wait in this process.
        """
        yield from parts_of_sync(self, read_run(self, self.resources, input, config, options))

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:  # noqa: A002
        """LangGraph's `astream`, when it is this turn's turn. Errors as for `stream`."""
        run = read_run(self, self.resources, input, config, options)
        async with aclosing(parts_of(self, run)) as parts:
            async for part in parts:
                yield part

    # `update_state` ends here as well.
    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """LangGraph's `bulk_update_state`; messages that cannot be read, and changes by another user, are refused.

        Raises:
            InputError: a message cannot be read.
            ThreadOwnershipError: the thread belongs to another user than the one whom the config names.
        """
        node_thread.run_sync(self._check_update(config, supersteps))
        updated = super().bulk_update_state(config, supersteps)
        if names_checkpoint(config):
            node_thread.run_sync(note_branch(self.resources, super().get_state(updated)))
        return updated

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """LangGraph's `abulk_update_state`. Errors as for `bulk_update_state`."""
        await self._check_update(config, supersteps)
        updated = await super().abulk_update_state(config, supersteps)
        if names_checkpoint(config):
            await note_branch(self.resources, await super().aget_state(updated))
        return updated

    def get_state(self, config: RunnableConfig, **options: Any) -> StateSnapshot:
        """LangGraph's `get_state`.

        Raises:
            InputError: the checkpoint that the config names is not there any more.
            ThreadOwnershipError: the config names another user than the one whose thread it is.
        """
        node_thread.run_sync(self._check_reader(config))
        return there(super().get_state(config, **options), config)

    async def aget_state(self, config: RunnableConfig, **options: Any) -> StateSnapshot:
        """LangGraph's `aget_state`. Errors as for `get_state`."""
        await self._check_reader(config)
        return there(await super().aget_state(config, **options), config)

    def get_state_history(self, config: RunnableConfig, **options: Any) -> Iterator[StateSnapshot]:
        """LangGraph's `get_state_history`. Errors as for `get_state`."""
        node_thread.run_sync(self._check_reader(config))
        yield from super().get_state_history(config, **options)

    async def aget_state_history(self, config: RunnableConfig, **options: Any) -> AsyncIterator[StateSnapshot]:
        """LangGraph's `aget_state_history`. Errors as for `get_state`."""
        await self._check_reader(config)
        async for snapshot in super().aget_state_history(config, **options):
            yield snapshot

    async def _check_update(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> None:
        read: list[AnyMessage] = []
        for values in (update.values for superstep in supersteps for update in superstep):
            if isinstance(values, Mapping) and values.get("messages"):
                given = values["messages"]
                read += read_input(given.value if hasattr(given, "value") else given)
        if (named := self._named(config)) is not None:
            await self.resources.of_user(named[0]).archive.own_thread(named[1])
        if thread_id := ((config or {}).get("configurable") or {}).get("thread_id"):
            user_id = self.resources.runs.settings_of(runtime_of(None, config), config).user_id
            await forget_removed(self.resources, user_id, str(thread_id), read, scrub=self.scrub)

    async def _check_reader(self, config: RunnableConfig) -> None:
        named = self._named(config)
        if named is not None and not self.resources.is_claimed(*named):
            try:
                await self.resources.of_user(named[0]).archive.refuse_foreign(named[1])
            except StorageUnreachable:
                if not self.resources.database.held.is_known(*named):
                    raise

    def _named(self, config: RunnableConfig) -> tuple[str, str] | None:
        """The user whom a config names, or the server knows, and the thread; None where nobody or none is named."""
        runtime, thread_id = runtime_of(None, config), ((config or {}).get("configurable") or {}).get("thread_id")
        if not thread_id or not (authenticated_user(runtime) or names_user(None, config)):
            return None
        return self.resources.runs.settings_of(runtime, config).user_id, str(thread_id)

    async def scrub(self, found: Found, *, held: str | None = None) -> None:
        """Forget it in the checkpointer, too, where that is not the storage's; `held`: the only thread that is held."""
        if (saver := foreign(self.checkpointer)) is not None:
            await scrub_saver(saver, found, None if held is None else self.resources.locks, held=held or "")
