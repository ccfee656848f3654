"""Replay: a real conversation goes through `remember` and `summarize`, exchange by exchange.

It goes through the graph itself: each exchange is put where the model's reply would stand, and the graph goes on from
there. A replay that was killed goes on where it was: what the archive holds is passed over, and ids are stable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from langchain_core.messages import AnyMessage
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

from ..settings.settings import Settings
from ..state.errors import StorageError
from ..text.count import counted
from .conversations import read_conversation, read_exchanges
from .opening import loading, say

if TYPE_CHECKING:
    from ..graph.conversation import CompiledConversation
    from ..runtime.user import User


def replay(
    settings: Settings,
    file: Annotated[
        Path, typer.Argument(help="JSON or JSONL of role and content, LoCoMo, or an object with messages.")
    ],
    thread: Annotated[str, typer.Option("--thread", help="The name of the thread that receives the conversation.")],
    conversation: Annotated[
        str | None, typer.Option("--conversation", help="Which one, if the file holds several: its id.")
    ] = None,
) -> None:
    """Replay a file into a thread, with a progress bar.

    Raises:
        InputError: the file cannot be read, or holds several conversations and none is chosen.
    """
    asyncio.run(_replay(settings, file, thread, conversation))


async def _replay(settings: Settings, file: Path, thread: str, conversation: str | None) -> None:
    with loading():
        from ..graph.open import open_graph
    opened = open_graph(settings)
    async with opened as graph:
        user = opened.resources.of_user(settings.user_id)
        id_ = await user.archive.thread_named(thread)
        messages = await asyncio.to_thread(read_conversation, file, id_, conversation)
        await user.archive.own_thread(id_, thread)
        added = await _feed(graph, user, settings, id_, messages)
        await _embed_rest(user, settings)
    say(f"Thread {thread!r}: {counted(len(messages), 'message')} in the file, {added} of them new.")


async def _feed(
    graph: CompiledConversation, user: User, settings: Settings, id_: str, messages: Sequence[AnyMessage]
) -> int:
    config: Any = {"configurable": {"thread_id": id_}}
    known = await user.archive.known_ids(id_, [str(message.id) for message in messages])
    if (await graph.aget_state(config)).tasks:
        await graph.ainvoke(None, config, context=settings)
    added = 0
    with Progress(*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task("Remembering", total=len(messages))
        for exchange in read_exchanges(messages):
            new = [message for message in exchange if message.id not in known]
            if new:
                await graph.aupdate_state(config, {"messages": new}, as_node="llm_call")
                state = await graph.ainvoke(None, config, context=settings, output_keys=["after_reply"])
                added += len(new)
                if error := state["after_reply"].error:
                    raise StorageError(f"The replay stopped: {error}")
            progress.advance(task, len(exchange))
    return added


async def _embed_rest(user: User, settings: Settings) -> None:
    """Wait until everything of the user has its vector."""
    with Console().status("Embedding what is left ..."):
        while await user.vectors.embed_pending(timeout=settings.timeouts.embedding):
            pass
