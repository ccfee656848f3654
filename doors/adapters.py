"""A memory as LangChain knows it: a retriever, tools, a chat history; each a few lines over `ConversationMemory`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from functools import wraps
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage, get_buffer_string
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import ConfigDict, Field

from ..state.errors import InputError
from ..state.records import Memory
from ..storage.loop_thread import node_thread
from .memory import ConversationMemory
from .names import NOTES, begun

_Work = Callable[..., Coroutine[Any, Any, str]]


class MemoryRetriever(BaseRetriever):
    """What was said, as documents: the text of a memory, with its thread, ids, time and score as metadata."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: ConversationMemory
    thread_id: str | None = Field(default=None, description="The only thread to search; all of the user's by default.")
    limit: int = Field(default=5, ge=1, description="Documents, at most.")

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [_document(found) for found in self.memory.recall(query, thread_id=self.thread_id, limit=self.limit)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = await self.memory.arecall(query, thread_id=self.thread_id, limit=self.limit)
        return [_document(memory) for memory in found]


class ThreadHistory(BaseChatMessageHistory):
    """One thread as a chat history.

    Args:
        memory: whose.
        thread_id: which.
        limit: the newest messages that are read, at most.
    """

    def __init__(self, memory: ConversationMemory, thread_id: str, *, limit: int = 1_000) -> None:
        self._memory = memory
        self._thread_id = thread_id
        self._limit = limit

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base class allows it to be read only
        """The conversation as it was said, blocking."""
        return [row.message for row in self._memory.history(self._thread_id, limit=self._limit)]

    async def aget_messages(self) -> list[BaseMessage]:
        """The conversation as it was said."""
        return [row.message for row in await self._memory.ahistory(self._thread_id, limit=self._limit)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Keep messages, blocking. Errors as for `ConversationMemory.aremember`."""
        self._memory.remember(messages, thread_id=self._thread_id)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Keep messages. Errors as for `ConversationMemory.aremember`."""
        await self._memory.aremember(messages, thread_id=self._thread_id)

    def clear(self) -> None:
        """Delete the thread for good, blocking."""
        self._memory.delete(self._thread_id)

    async def aclear(self) -> None:
        """Delete the thread for good."""
        await self._memory.adelete(self._thread_id)


def memory_tools(
    memory: ConversationMemory, *, thread_id: str | None = None, names: Collection[str] = ("search_memory", "remember")
) -> list[BaseTool]:
    """Tools for an agent of your own, for one user.

    Args:
        memory: whose.
        thread_id: where `remember` keeps what the model wants kept, and which conversation the others are about; by
            default the user's thread of the name "notes".
        names: which tools, of `search_memory`, `remember`, `pin`, `list_pins`, `unpin`, `show_context`,
            `summarize_messages`.

    Raises:
        InputError: one of the names is none of these.
    """
    tools = {tool.name: tool for tool in _tools(memory, thread_id)}
    if unknown := [name for name in names if name not in tools]:
        raise InputError(f"There is no tool {unknown[0]!r}: expected some of {', '.join(tools)}.")
    return [tools[name] for name in names]


def _tools(memory: ConversationMemory, thread_id: str | None) -> list[BaseTool]:
    """All tools; their docstrings are what a model reads of them. What cannot be done is their answer."""

    async def place() -> str:
        return await begun(memory, NOTES) if thread_id is None else thread_id

    async def search_memory(query: str, limit: int = 5) -> str:
        """Find what was said in earlier conversations with this user.

        Args:
            query: what to find, in whole words or as a question.
            limit: how many memories, 1 to 20; the best come first.
        """
        return _shown(await memory.arecall(query, limit=min(max(limit, 1), 20)))

    async def remember(text: str) -> str:
        """Keep something that the user wants remembered, in the user's own words.

        Args:
            text: one statement that is understandable alone.
        """
        if not text.strip():
            raise InputError("The text is empty: expected a statement.")
        return (
            "Kept." if await memory.aremember([HumanMessage(text)], thread_id=await place()) else "It was kept already."
        )

    async def pin(text: str, score: float = 0.8) -> str:
        """Keep a short text in sight in all later conversations.

        Args:
            text: what to keep in sight.
            score: how much it matters, from 0 to 1.
        """
        return f"Pinned as {(await memory.apin(text, thread_id=await place(), score=score)).id}."

    async def list_pins() -> str:
        """List what is pinned, with ids and scores."""
        pins = await memory.apins()
        return "\n".join(f"{pin.id} ({pin.score:g}): {pin.text}" for pin in pins) or "Nothing is pinned."

    async def unpin(pin_id: str) -> str:
        """Remove a pin; what was said stays in memory.

        Args:
            pin_id: its id, as `pin` and `list_pins` give it.
        """
        return f"Removed: {await memory.aunpin(pin_id)}"

    async def show_context(question: str) -> str:
        """Show what would be known when a question is asked: pins, facts, summaries and memories.

        Args:
            question: the question.
        """
        built = await memory.abuild_context(question, thread_id=await place())
        return get_buffer_string(list(built.messages))

    async def summarize_messages(first_id: str, last_id: str) -> str:
        """Summarize a part of this conversation.

        Args:
            first_id: the id of its first message.
            last_id: the id of its last message, at most 500 further.
        """
        return (await memory.asummarize(await place(), first_id, last_id)).content

    works = (search_memory, remember, pin, list_pins, unpin, show_context, summarize_messages)
    return [_tool(_answered(work)) for work in works]


def _tool(work: _Work) -> BaseTool:
    return StructuredTool.from_function(_blocking(work), work, parse_docstring=True)


def _answered(work: _Work) -> _Work:
    """The work, with what is wrong with its arguments as its answer: the model may mend them."""

    @wraps(work)
    async def answered(**values: Any) -> str:
        try:
            return await work(**values)
        except InputError as error:
            return str(error)

    return answered


def _blocking(work: _Work) -> Callable[..., str]:
    @wraps(work)
    def answered(**values: Any) -> str:
        return node_thread.run_sync(work(**values))

    return answered


def _shown(memories: Sequence[Memory]) -> str:
    if not memories:
        return "Nothing that was said bears on this."
    return "\n\n".join(_text(memory) for memory in memories)


def _text(memory: Memory) -> str:
    said = "\n".join(f"{fragment.role}: {fragment.content}" for fragment in memory.fragments)
    return f"[{memory.created_at:%Y-%m-%d}]\n{said}"


def _document(memory: Memory) -> Document:
    return Document(
        _text(memory),
        id=f"{memory.thread_id}/{memory.source_ids[0]}",
        metadata={
            "thread_id": memory.thread_id,
            "source_ids": list(memory.source_ids),
            "source_type": memory.source_type,
            "score": memory.score,
            "created_at": memory.created_at.isoformat(),
        },
    )
