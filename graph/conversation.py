"""`Conversation`: the compiled graph, which checks what comes in before the state of a thread is touched."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack
from typing import Any, NamedTuple, Self

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel.main import _build_server_info
from langgraph.runtime import Runtime
from langgraph.types import Command

from ..runtime.deletion import Deletion
from ..runtime.resources import Resources
from ..runtime.run_settings import as_context, authenticated_user, names_user
from ..runtime.turn import CHAINS_KEY, FORK_KEY, NESTED_KEY, THREAD_KEY
from ..state.conversation import TURN_CHANNELS
from ..state.errors import InputError, SettingsError
from ..state.live_chain import LiveChains
from ..state.messages import check_input, clean_text, read_input
from ..state.records import Deleted
from ..storage.archive import ArchivedMessage
from ..storage.loop_thread import node_thread
from ..storage.postgres.thread_lock import ThreadLocks
from ..storage.sparse_checkpoints import RUN_KEY, RunCheckpoints
from .node import RUNTIME_KEY
from .recognition import recognized

_HELD_KEY = "__everthread_held"
"""Names in a `configurable` the thread that a run has, so that a graph inside it does not wait for it."""

CompiledConversation = CompiledStateGraph[Any, Any, Any, Any]
"""The compiled graph. Input and context are open to what LangGraph takes: messages as pairs, the context as a dict."""


class Conversation(CompiledConversation):
    """A compiled LangGraph graph that does three things before each turn, before the thread's state is touched.

    It refuses a message that cannot be read or answered. It claims the thread for the user, or refuses the turn. And it
    recognizes what was said already: a message sent again, the whole history sent again.

    It also waits for a turn that runs in the same thread, in this process, and with the locks of `open_graph` in
    another: else the last writer would win, and what the other wrote would be lost.
    """

    resources: Resources
    locks: ThreadLocks

    @classmethod
    def around(cls, graph: CompiledConversation, resources: Resources, locks: ThreadLocks | None = None) -> Self:
        """The same graph, which checks what comes in."""
        conversation = cls.__new__(cls)
        conversation.__dict__.update(graph.__dict__, resources=resources, locks=locks or ThreadLocks())
        # What describes one turn alone is for nodes: clients see it in the report.
        channels = [name for name in graph.channels if name in graph.builder.channels and name not in TURN_CHANNELS]
        conversation.stream_channels = channels
        return conversation

    def with_locks(self, locks: ThreadLocks) -> Self:
        """The same graph, whose turns in one thread wait for each other."""
        return self.around(self, self.resources, locks)

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """A copy with some attributes replaced, as LangGraph makes them."""
        return self.around(super().copy(update), self.resources, self.locks)

    async def adelete(self, user_id: str, thread_id: str | None = None) -> Deleted:
        """Delete a thread of a user, or all of their threads, with everything that was made from them.

        Raises:
            InputError: the user has no such thread.
            EverthreadError: something failed, and nothing was deleted.
        """
        user = self.resources.of_user(user_id)
        return await Deletion(user.rows, user.vectors, self.locks).delete(thread_id)

    def delete(self, user_id: str, thread_id: str | None = None) -> Deleted:
        """`adelete`, blocking."""
        return node_thread.run_sync(self.adelete(user_id, thread_id))

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

    def history(
        self, user_id: str, thread_id: str, *, before: str | None = None, limit: int = 50, with_left: bool = False
    ) -> list[ArchivedMessage]:
        """`ahistory`, blocking."""
        page = self.ahistory(user_id, thread_id, before=before, limit=limit, with_left=with_left)
        return node_thread.run_sync(page)

    async def asettled(self) -> None:
        """Wait until all that was said is embedded and read for facts, which goes on after each turn."""
        await self.resources.settled()

    def settled(self) -> None:
        """`asettled`, blocking."""
        node_thread.run_sync(self.asettled())

    # The signatures are LangGraph's own, which has several for each of the two methods.
    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:  # noqa: A002
        """LangGraph's `stream`, when it is this turn's turn.

        Raises:
            InputError: there is no message, or it is empty or cannot be read; or the thread id cannot be used.
            SettingsError: the context holds a value that is not allowed.
            ThreadOwnershipError: the thread belongs to another user.
        """
        run = self._run(input, config, options)
        node_thread.run_sync(self._claim(run))
        with ExitStack() as stack:
            if run.is_to_be_locked:
                stack.enter_context(self.locks.hold_sync(str(run.thread_id)))
            if run.thread_id is not None:
                stack.enter_context(self.resources.turn_of(run.user_id, run.thread_id))
            given = node_thread.run_sync(self._recognized(run))
            yield from super().stream(given, run.config, **run.options)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:  # noqa: A002
        """LangGraph's `astream`, when it is this turn's turn. Errors as for `stream`."""
        run = self._run(input, config, options)
        await self._claim(run)
        async with AsyncExitStack() as stack:
            if run.is_to_be_locked:
                await stack.enter_async_context(self.locks.hold(str(run.thread_id)))
            if run.thread_id is not None:
                stack.enter_context(self.resources.turn_of(run.user_id, run.thread_id))
            given = await self._recognized(run)
            async for part in super().astream(given, run.config, **run.options):
                yield part

    def update_state(self, config: RunnableConfig, values: Any, *args: Any, **options: Any) -> RunnableConfig:
        """LangGraph's `update_state`; messages that cannot be read, and changes by another user, are refused.

        Raises:
            InputError: a message cannot be read.
            ThreadOwnershipError: the thread belongs to another user than the one whom the config names.
        """
        node_thread.run_sync(self._check_update(config, values))
        return super().update_state(config, values, *args, **options)

    async def aupdate_state(self, config: RunnableConfig, values: Any, *args: Any, **options: Any) -> RunnableConfig:
        """LangGraph's `aupdate_state`. Errors as for `update_state`."""
        await self._check_update(config, values)
        return await super().aupdate_state(config, values, *args, **options)

    def _run(self, input: Any, config: RunnableConfig | None, options: dict[str, Any]) -> _Run:  # noqa: A002
        messages = _check(input)
        options = {**options, "context": self._as_settings(options.get("context"))}
        config = ensure_config(config)
        configurable = config.get("configurable") or {}
        thread_id, is_nested = _thread_id(configurable), bool(configurable.get("checkpoint_ns"))
        is_held = thread_id is not None and configurable.get(_HELD_KEY) == thread_id
        ours: dict[str, Any] = {_HELD_KEY: thread_id} if thread_id is not None else {THREAD_KEY: str(uuid.uuid4())}
        ours |= {FORK_KEY: bool(configurable.get("checkpoint_id")) and not is_nested, NESTED_KEY: is_nested}
        ours[CHAINS_KEY] = LiveChains()
        if not (is_nested or self._may_stop_between(options)):
            ours[RUN_KEY] = RunCheckpoints()
        own: RunnableConfig = {**config, "configurable": {**configurable, **ours}}
        # A graph around this one hands its context on in its runtime.
        around = configurable.get(RUNTIME_KEY)
        context = options["context"] if options["context"] is not None else getattr(around, "context", None)
        runtime = _runtime(context, own)
        if self.resources.settings.require_user and not (authenticated_user(runtime) or names_user(context, own)):
            raise SettingsError(
                'The run names no user: pass {"user_id": "..."} in the context, or sign in on the server '
                "(EVERTHREAD_REQUIRE_USER is set)."
            )
        user_id = self.resources.settings_of(runtime, own).user_id
        is_to_be_locked = thread_id is not None and not is_held
        return _Run(input, messages, own, options, user_id, thread_id, is_nested, is_to_be_locked)

    def _may_stop_between(self, options: Mapping[str, Any]) -> bool:
        """Whether the run stops before or after a node, whichever: then each step must be in a checkpoint."""
        names = ("interrupt_before", "interrupt_after")
        return bool(
            self.interrupt_before_nodes or self.interrupt_after_nodes or any(options.get(name) for name in names)
        )

    async def _claim(self, run: _Run) -> None:
        if run.thread_id is not None:
            await self.resources.of_user(run.user_id).archive.own_thread(run.thread_id)

    async def _recognized(self, run: _Run) -> Any:
        """The input without what was said already; None where a turn that broke off is to be resumed."""
        if run.messages is None or run.is_nested or run.thread_id is None or self.checkpointer in {None, False}:
            return run.input
        new = await recognized(
            run.messages, self, run.config, self.resources.of_user(run.user_id).archive, run.thread_id
        )
        return None if new is None else {**run.input, "messages": new}

    async def _check_update(self, config: RunnableConfig, values: Any) -> None:
        if isinstance(values, Mapping) and values.get("messages"):
            given = values["messages"]
            read_input(given.value if hasattr(given, "value") else given)
        configurable = (config or {}).get("configurable") or {}
        named = self.resources.settings_of(_runtime(None, config), config).user_id
        if named != self.resources.settings.user_id and configurable.get("thread_id"):
            await self.resources.of_user(named).archive.own_thread(str(configurable["thread_id"]))

    def _as_settings(self, context: Any) -> Any:
        """The context, made to settings where it is a mapping of them: LangGraph would build them each time.

        Raises:
            SettingsError: a value in it is not allowed, or it is nothing that can be a context.
        """
        if isinstance(context, (str, bytes, int, float, list, tuple)):
            raise SettingsError(
                f"The context is a {type(context).__name__}: expected a mapping of settings, as "
                '{"user_id": "ada"}, or a Settings.'
            )
        context = as_context(context)
        return self.resources.read_context(context) if isinstance(context, Mapping) else context


class _Run(NamedTuple):
    """One run, read and checked.

    Attributes:
        input: as it was given.
        messages: those of the input; None where it has none of its own.
        config: with what the nodes and the checkpointer need to know.
        options: of LangGraph's `stream`.
        user_id: whose turn it is.
        thread_id: None where the graph runs without one.
        is_nested: whether it is a part of another graph.
        is_to_be_locked: whether the thread is not held by a run around this one.
    """

    input: Any
    messages: list[AnyMessage] | None
    config: RunnableConfig
    options: dict[str, Any]
    user_id: str
    thread_id: str | None
    is_nested: bool
    is_to_be_locked: bool


def _runtime(context: Any, config: RunnableConfig) -> Runtime[Any]:
    """What LangGraph gives the nodes of a run: the context, and whom its server knows."""
    return Runtime(context=context, server_info=_build_server_info(config, Runtime()))


def _check(input: Any) -> list[AnyMessage] | None:  # noqa: A002  # LangGraph calls it so
    """The messages of an input; refuses what cannot be answered."""
    given = input.update if isinstance(input, Command) else input
    if not isinstance(given, Mapping):
        return None
    if not given.get("messages") and not isinstance(given.get("messages"), str):
        if isinstance(input, Command):
            return None
        named = f" It names {', '.join(repr(key) for key in given)}." if given else ""
        raise InputError(
            f'The input has no messages.{named} Expected {{"messages": [("user", "...")]}}; None goes on with a '
            "turn that broke off."
        )
    messages = read_input(given["messages"])
    check_input(messages)
    return None if isinstance(input, Command) else messages


def _thread_id(configurable: Mapping[str, Any]) -> str | None:
    """The thread of a run; None where none is named.

    Raises:
        InputError: the id cannot be kept as one.
    """
    if "thread_id" not in configurable:
        return None
    given = configurable["thread_id"]
    thread_id = "" if given is None else str(given)
    if not thread_id or clean_text(thread_id) != thread_id:
        raise InputError(
            f"The thread id {given!r} cannot be used: expected a non-empty text without NUL characters and lone "
            "surrogates."
        )
    return thread_id
