"""`Conversation`: the compiled graph of `open_graph`, whose turns in one thread wait for each other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Self

from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from ..memory.loop_thread import io_thread
from ..memory.thread_lock import ThreadLocks
from ..nodes.resources import Resources
from ..state.conversation import ConversationState
from ..state.messages import check_input, read_input
from ..state.settings import Settings

CompiledConversation = CompiledStateGraph[ConversationState, Any, Any, ConversationState]
"""The compiled graph. Input and context are open to what LangGraph takes: messages as pairs, the context as a dict."""


class Conversation(CompiledConversation):
    """A compiled LangGraph graph that does three things before each turn, before the thread's state is touched.

    It refuses a message that cannot be answered. It claims the thread for the user, or refuses the turn. And it waits
    for a turn that runs in the same thread, in this process or another: else the last writer would win, and what the
    other wrote would be lost.
    """

    resources: Resources
    locks: ThreadLocks

    @classmethod
    def around(cls, graph: CompiledConversation, resources: Resources, locks: ThreadLocks) -> Self:
        """The same graph, with its turns in order."""
        conversation = cls.__new__(cls)
        conversation.__dict__.update(graph.__dict__, resources=resources, locks=locks)
        return conversation

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """A copy with some attributes replaced, as LangGraph makes them."""
        return self.around(super().copy(update), self.resources, self.locks)

    # The signatures are LangGraph's own, which has several for each of the two methods.
    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:  # noqa: A002
        """LangGraph's `stream`, when it is this turn's turn.

        Raises:
            InputError: the message is empty or cannot be read.
            ThreadOwnershipError: the thread belongs to another user.
        """
        _check(input)
        options = self._with_settings(options)
        thread_id = _thread_id(config)
        if thread_id is None:
            yield from super().stream(input, config, **options)
            return
        io_thread.run_sync(self._claim(thread_id, options.get("context")))
        with self.locks.hold_sync(thread_id):
            yield from super().stream(input, config, **options)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:  # noqa: A002
        """LangGraph's `astream`, when it is this turn's turn. Errors as for `stream`."""
        _check(input)
        options = self._with_settings(options)
        thread_id = _thread_id(config)
        if thread_id is None:
            async for part in super().astream(input, config, **options):
                yield part
            return
        await self._claim(thread_id, options.get("context"))
        async with self.locks.hold(thread_id):
            async for part in super().astream(input, config, **options):
                yield part

    def _with_settings(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options with a context that is a mapping made to settings: LangGraph would make them anew each time."""
        context = options.get("context")
        return {**options, "context": self.resources.read_context(context)} if isinstance(context, Mapping) else options

    async def _claim(self, thread_id: str, context: Settings | None) -> None:
        user_id = self.resources.settings_of(Runtime(context=context)).user_id  # type: ignore[arg-type]  # or None
        await self.resources.archive.own_thread(user_id, thread_id)


def _check(input: Any) -> None:  # noqa: A002  # LangGraph calls it so
    if isinstance(input, Mapping) and input.get("messages"):
        check_input(read_input(input["messages"]))


def _thread_id(config: RunnableConfig | None) -> str | None:
    thread_id = ensure_config(config).get("configurable", {}).get("thread_id")
    return None if thread_id is None else str(thread_id)
