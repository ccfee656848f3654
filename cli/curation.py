"""A thread looked at and tended by hand: the context for a question, a summary of a range, pins (seed `002`)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from langchain_core.messages import get_buffer_string

from ..state.fact_records import MANUAL_SCORE
from ..storage.storage import Storage
from .opening import Thread, graph_on, say, thread_of

if TYPE_CHECKING:
    from ..doors.memory import ConversationMemory


async def context(
    storage: Storage, thread: Thread, question: Annotated[str, typer.Argument(help="What would be asked.")]
) -> None:
    """Print what a model would be shown for a question, and what it costs; nothing is kept.

    Raises:
        InputError: the user has no such thread, or the question is empty.
    """
    id_ = await thread_of(storage, thread)
    async with _memory(storage) as memory:
        built = await memory.abuild_context(question, thread_id=id_)
    say(get_buffer_string(list(built.messages)))
    say(f"\n{built.tokens} of {built.report.budget} tokens", style="bold")
    for section in built.report.sections:
        say(f"{section.name}: {section.tokens} tokens, {section.items} items, {section.dropped} left out")
    for message, importance in built.recent:
        say(f"{message.id} {importance:.2f}")


async def summarize(
    storage: Storage,
    thread: Thread,
    first: Annotated[str, typer.Argument(help="The id of the first message.")],
    last: Annotated[str, typer.Argument(help="The id of the last message.")],
) -> None:
    """Print a summary of some messages of a thread; it is not kept.

    Raises:
        InputError: the user has no such thread, or it has no such messages.
        ModelError: the summary model failed, and the settings want no fallback.
    """
    id_ = await thread_of(storage, thread)
    async with _memory(storage) as memory:
        say((await memory.asummarize(id_, first, last)).content)


async def pin(
    storage: Storage,
    thread: Thread,
    text: Annotated[str, typer.Argument(help="What is to be kept in sight.")],
    score: Annotated[float, typer.Option("--score", help="How much it matters, from 0 to 1.")] = MANUAL_SCORE,
    source: Annotated[str | None, typer.Option("--source", help="The id of the message that it comes from.")] = None,
) -> None:
    """Pin a text.

    Raises:
        InputError: the user has no such thread, it has no such message, or the text or the score is none.
    """
    id_ = await thread_of(storage, thread)
    async with _memory(storage) as memory:
        made = await memory.apin(text, thread_id=id_, score=score, source_id=source)
    say(f"{made.id} is pinned; `everthread facts` lists pins, `everthread unpin` removes them.")


async def unpin(storage: Storage, id_: Annotated[str, typer.Argument(help="The id of the pin.")]) -> None:
    """Remove a pin, and leave what was said.

    Raises:
        InputError: the user has no such pin.
    """
    async with _memory(storage) as memory:
        meant = [pin.id for pin in await memory.apins() if id_ and pin.id.startswith(id_)]
        say(f"Removed: {await memory.aunpin(meant[0] if len(meant) == 1 else id_)}")


@asynccontextmanager
async def _memory(storage: Storage) -> AsyncIterator[ConversationMemory]:
    """The memory of the user of the settings, on an open storage."""
    async with graph_on(storage) as graph:
        from ..doors.memory import ConversationMemory

        yield ConversationMemory(graph.resources, storage.settings.user_id)
