"""The tools with which an agent sees and tends a memory: `pin`, `list_pins`, `unpin`, `show_context` and the like."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from langchain_core.messages import get_buffer_string
from langchain_core.tools import BaseTool, StructuredTool

from ..state.errors import InputError
from ..storage.loop_thread import node_thread
from .curation import Curated

Work = Callable[..., Coroutine[Any, Any, str]]


def curation_tools(memory: Curated, thread_id: str) -> list[BaseTool]:
    """The tools, for one thread of a user. What cannot be done is told to the model."""

    async def pin(text: str, score: float = 0.8) -> str:
        """Keep a short text in sight in all later conversations. The score from 0 to 1 says how much it matters."""
        return f"Pinned as {(await memory.apin(text, thread_id=thread_id, score=score)).id}."

    async def list_pins() -> str:
        """List what is pinned, with ids and scores."""
        pins = await memory.apins()
        return "\n".join(f"{pin.id} ({pin.score:g}): {pin.text}" for pin in pins) or "Nothing is pinned."

    async def unpin(pin_id: str) -> str:
        """Remove a pin by its id; what was said stays in memory."""
        return f"Removed: {await memory.aunpin(pin_id)}"

    async def show_context(question: str) -> str:
        """Show what would be known when this question is asked: pins, facts, summaries and memories."""
        built = await memory.abuild_context(question, thread_id=thread_id)
        return get_buffer_string(list(built.messages))

    async def summarize_messages(first_id: str, last_id: str) -> str:
        """Summarize the messages of this conversation from one id to another."""
        return (await memory.asummarize(thread_id, first_id, last_id)).content

    works = (pin, list_pins, unpin, show_context, summarize_messages)
    return [StructuredTool.from_function(_blocking(_told(work)), _told(work)) for work in works]


def _told(work: Work) -> Work:
    """The work, with what is wrong with its arguments as its answer: the model may mend them."""

    @wraps(work)
    async def answered(**values: Any) -> str:
        try:
            return await work(**values)
        except InputError as error:
            return str(error)

    return answered


def _blocking(work: Work) -> Callable[..., str]:
    @wraps(work)
    def answered(**values: Any) -> str:
        return node_thread.run_sync(work(**values))

    return answered
