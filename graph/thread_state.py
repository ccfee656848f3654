"""`ThreadState`: the state of one thread while no turn runs in it, to be looked at and mended between turns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite, StateSnapshot

from ..state.errors import InputError
from .conversation import CompiledConversation, Conversation

_LAST_NODE: Final = "command"
"""The node in whose name the chain is written: after it a turn is over, so that nothing is left to run."""


class ThreadState:
    """The newest state of a thread. Made by `thread_state`.

    Attributes:
        messages: the `messages` of the state.
        snapshot: the newest checkpoint, as LangGraph gives it.
    """

    def __init__(self, conversation: Conversation, user_id: str, thread_id: str, snapshot: StateSnapshot) -> None:
        self.conversation = conversation
        self.user_id = user_id
        self.thread_id = thread_id
        self.snapshot = snapshot
        self.messages: list[AnyMessage] = list(snapshot.values.get("messages", []))

    @property
    def config(self) -> RunnableConfig:
        """The config that names the thread."""
        return {"configurable": {"thread_id": self.thread_id}}

    @property
    def exists(self) -> bool:
        """Whether the thread has a state; an imported one that nobody went on with has none."""
        return bool(self.snapshot.values)

    @property
    def is_writable(self) -> bool:
        """Whether no turn waits to be resumed, which writing the chain would give up."""
        return not self.snapshot.next

    def check_writable(self) -> None:
        """Refuse to go on while a turn waits to be resumed.

        Raises:
            InputError: one does.
        """
        if not self.is_writable:
            raise InputError(
                f"A turn of thread {self.thread_id!r} has not come to its end (it is at "
                f"{', '.join(self.snapshot.next)}): resume it or send the next message, and try again then."
            )

    async def write(self, messages: Sequence[AnyMessage]) -> None:
        """Make these the messages of the thread, where they are others than those it has."""
        if list(messages) == self.messages:
            return
        update = {"messages": Overwrite(list(messages))}
        await self.conversation.aupdate_state(self.config, update, as_node=_LAST_NODE)
        self.messages = list(messages)


@asynccontextmanager
async def thread_state(conversation: Conversation, user_id: str, thread_id: str) -> AsyncIterator[ThreadState]:
    """The state of a thread, in which no turn begins until it is left; a turn that runs is waited for.

    Raises:
        StorageError: the database cannot be reached, or a turn has been running for longer than ten minutes.
    """
    async with conversation.locks.hold(thread_id):
        snapshot = await conversation.aget_state({"configurable": {"thread_id": thread_id}})
        yield ThreadState(conversation, user_id, thread_id, snapshot)


def opened(graph: CompiledConversation) -> Conversation:
    """The graph as `open_graph` makes it.

    Raises:
        InputError: it was compiled elsewhere, and has no resources.
    """
    if not isinstance(graph, Conversation):
        raise InputError("This needs the graph that `open_graph` gives: one that was compiled by hand has no archive.")
    return graph
