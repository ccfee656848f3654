"""`ThreadState`: the state of one thread while no turn runs in it, to be looked at and mended between turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite, StateSnapshot

from ..graph.conversation import CompiledConversation, Conversation
from ..runtime.turn import Turn
from ..runtime.user import User
from ..state.chain import Chain, empty_chain
from ..state.errors import InputError, StorageReadOnly
from ..state.update import Update

_LAST_NODE: Final = "command"
"""The node in whose name a state is written between turns: after it a turn is over, so that nothing is left to run."""


class ThreadState:
    """The newest state of a thread. Made by `thread_state`.

    Attributes:
        messages: the `messages` of the state.
        chain: the `chain` of the state; an empty one where it has none, as after an import.
        snapshot: the newest checkpoint, as LangGraph gives it.
        is_writable: whether no turn waits to be resumed, which writing the chain would give up.
        turn: what a node is given in a turn of the thread.
    """

    def __init__(self, conversation: Conversation, user: User, thread_id: str, snapshot: StateSnapshot) -> None:
        self.conversation = conversation
        self.user = user
        self.thread_id = thread_id
        self.snapshot = snapshot
        self.messages: list[AnyMessage] = list(snapshot.values.get("messages", []))
        self.chain: Chain = snapshot.values.get("chain") or empty_chain()
        self.is_writable = not snapshot.tasks
        settings = conversation.resources.settings.model_copy(update={"user_id": user.id})
        self.turn = Turn(conversation.resources, settings, {"configurable": {"thread_id": thread_id}})

    def check_writable(self) -> None:
        """Refuse to go on while a turn waits to be resumed.

        Raises:
            InputError: one does.
        """
        if not self.is_writable:
            waiting = ", ".join(task.name for task in self.snapshot.tasks)
            raise InputError(
                f"A turn of this thread has not come to its end (it is at {waiting}): resume it or send the next "
                "message, and try again then."
            )

    async def write(self, chain: Chain, messages: list[AnyMessage] | None = None) -> None:
        """Make this the chain of the thread, and these its messages, where they are others than those it has."""
        update: Update = {"chain": chain} if chain != self.chain else {}
        if messages is not None:
            update["messages"] = Overwrite(messages)
        if update:
            await self.conversation.aupdate_state(self.turn.config, update, as_node=_LAST_NODE)
            self.chain, self.messages = chain, self.messages if messages is None else messages


@asynccontextmanager
async def thread_state(conversation: Conversation, user: User, thread_id: str) -> AsyncIterator[ThreadState]:
    """The state of a thread, in which no turn begins until it is left; a turn that runs is waited for.

    On a database that takes no writes nobody can keep turns out: it is the state of the moment.

    Raises:
        StorageError: the database cannot be reached, or a turn has been running for longer than ten minutes.
    """
    async with AsyncExitStack() as stack:
        with suppress(StorageReadOnly):
            await stack.enter_async_context(conversation.resources.locks.hold(thread_id))
        snapshot = await conversation.aget_state({"configurable": {"thread_id": thread_id}})
        yield ThreadState(conversation, user, thread_id, snapshot)


def opened(graph: CompiledConversation) -> Conversation:
    """The graph as `open_graph` and `build_graph(...).compile(...)` make it.

    Raises:
        InputError: it is another graph.
    """
    if not isinstance(graph, Conversation):
        raise InputError("This needs the graph that `open_graph` or `build_graph(...).compile(...)` gives.")
    if not graph.checkpointer:
        raise InputError("This needs a graph with a checkpointer: the graph that `open_graph` gives has one.")
    return graph
