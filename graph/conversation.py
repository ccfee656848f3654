"""`Conversation`: the compiled graph of `open_graph`, whose turns in one thread wait for each other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Self

from langchain_core.messages import AnyMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from ..memory.deletion import Deletion
from ..memory.loop_thread import io_thread, node_thread
from ..memory.thread_lock import ThreadLocks
from ..nodes.resources import Resources
from ..state.conversation import ConversationState
from ..state.errors import InputError, SettingsError
from ..state.messages import check_input, clean_text, read_input
from ..state.records import Deleted
from ..state.settings import Settings

CompiledConversation = CompiledStateGraph[ConversationState, Any, Any, ConversationState]
"""The compiled graph. Input and context are open to what LangGraph takes: messages as pairs, the context as a dict."""


class Conversation(CompiledConversation):
    """A compiled LangGraph graph that does three things before each turn, before the thread's state is touched.

    It refuses a message that cannot be answered, or that would change one already said. It claims the thread for the
    user, or refuses the turn. And it waits for a turn that runs in the same thread, in this process or another: else
    the last writer would win, and what the other wrote would be lost.
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

    async def adelete(self, user_id: str, thread_id: str | None = None) -> Deleted:
        """Delete a thread of a user, or all of their threads, with everything that was made from them.

        Raises:
            InputError: the user has no such thread.
            EverthreadError: something failed, and nothing was deleted.
        """
        deletion = Deletion(self.resources.database, self.resources.vectors, self.locks)
        return await deletion.delete(user_id, thread_id)

    def delete(self, user_id: str, thread_id: str | None = None) -> Deleted:
        """`adelete`, blocking."""
        return node_thread.run_sync(self.adelete(user_id, thread_id))

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
            InputError: there is no message, or it is empty, cannot be read, or has the id of another one with another
                content; or the thread id cannot be used.
            ThreadOwnershipError: the thread belongs to another user.
        """
        known = _check(input)
        options = self._with_settings(options)
        thread_id = _thread_id(config)
        if thread_id is None:
            yield from super().stream(input, config, **options)
            return
        user_id = self._user_of(options.get("context"))
        io_thread.run_sync(self.resources.archive.own_thread(user_id, thread_id))
        with self.locks.hold_sync(thread_id), self.resources.turn_of(user_id, thread_id):
            if known:
                io_thread.run_sync(self.resources.archive.refuse_changed(user_id, thread_id, known))
            yield from super().stream(input, config, **options)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:  # noqa: A002
        """LangGraph's `astream`, when it is this turn's turn. Errors as for `stream`."""
        known = _check(input)
        options = self._with_settings(options)
        thread_id = _thread_id(config)
        if thread_id is None:
            async for part in super().astream(input, config, **options):
                yield part
            return
        user_id = self._user_of(options.get("context"))
        await self.resources.archive.own_thread(user_id, thread_id)
        async with self.locks.hold(thread_id):
            with self.resources.turn_of(user_id, thread_id):
                if known:
                    await self.resources.archive.refuse_changed(user_id, thread_id, known)
                async for part in super().astream(input, config, **options):
                    yield part

    def _with_settings(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options with a context that is a mapping made to settings: LangGraph would make them anew each time.

        Raises:
            SettingsError: the context is neither settings nor a mapping, or a value in it is not allowed.
        """
        context = options.get("context")
        if context is None or isinstance(context, Settings):
            return options
        if not isinstance(context, Mapping):
            raise SettingsError(
                f"The context is a {type(context).__name__}: expected was a mapping of settings, as "
                '{"user_id": "ada"}, or a Settings.'
            )
        return {**options, "context": self.resources.read_context(context)}

    def _user_of(self, context: Settings | None) -> str:
        return self.resources.settings_of(Runtime(context=context)).user_id  # type: ignore[arg-type]  # or None


def _check(input: Any) -> list[AnyMessage]:  # noqa: A002  # LangGraph calls it so
    """Refuse what cannot be answered; returns the messages that came with ids, which may be known already."""
    given = input.update if isinstance(input, Command) else input
    if not isinstance(given, Mapping):
        return []
    if not given.get("messages"):
        if isinstance(input, Command):
            return []
        named = f" It names {', '.join(repr(key) for key in given)}." if given else ""
        raise InputError(
            f'The input has no messages.{named} Expected was {{"messages": [("user", "...")]}}; None goes on with a '
            "turn that broke off."
        )
    messages = read_input(given["messages"])
    check_input(messages)
    return [message for message in messages if message.id and not isinstance(message, RemoveMessage)]


def _thread_id(config: RunnableConfig | None) -> str | None:
    """The thread of a run; None where none is named.

    Raises:
        InputError: the id cannot be kept as one.
    """
    configurable = ensure_config(config).get("configurable", {})
    if "thread_id" not in configurable:
        return None
    given = configurable["thread_id"]
    thread_id = "" if given is None else str(given)
    if not thread_id or clean_text(thread_id) != thread_id:
        raise InputError(
            f"The thread id {given!r} cannot be used: expected was a text that is not empty, without NUL characters "
            "and lone surrogates."
        )
    return thread_id
