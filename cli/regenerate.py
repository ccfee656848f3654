"""`everthread regenerate`: summaries are made again from their sources."""

from __future__ import annotations

import asyncio
from typing import Any

from rich.console import Console

from ..graph.open import conversation_on
from ..maintenance.regenerate import regenerate, regenerate_rejected
from ..runtime.resources import Resources
from ..settings.settings import Settings
from ..state.compression_records import Remade
from ..state.errors import InputError
from ..state.records import MASTER_LEVEL
from ..state.report_records import EXCERPT
from ..text.shorten import one_line
from .naming import as_typed


def run_regenerate(
    summary: str | None, thread: str | None, values: dict[str, Any], *, rejected: bool, above: bool
) -> int:
    """Make one summary again, or all rejected ones of a thread; prints a line for each. Returns the exit code.

    Args:
        summary: the id of a summary, or its beginning.
        thread: the name or the id of the thread.
        values: settings by name.
        rejected: every summary of the thread whose model's text was rejected, instead of one.
        above: the summaries that were made from it, too.

    Raises:
        InputError: nothing of the kind is there, or it is not said what is meant.
        StorageError: the database cannot be started or reached.
        ModelError: the summary model failed, and the settings want no fallback.
    """
    if rejected and (summary is not None or thread is None):
        raise InputError("--all-rejected makes all of a thread again: give the thread with --thread, and no summary.")
    if not rejected and summary is None:
        raise InputError("Give the id of a summary, or its beginning; `everthread trace THREAD` shows those there are.")
    done = asyncio.run(_made(summary, thread, Settings(**values), above=above))
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for made in done:
        console.print(_line(made))
    if not done:
        console.print("No summary of this thread was rejected.")
    return 0 if all(made.replaced for made in done) else 1


async def _made(summary: str | None, thread: str | None, settings: Settings, *, above: bool) -> list[Remade]:
    resources, user_id = Resources(settings), settings.user_id
    conversation = conversation_on(resources)
    try:
        id_ = None if thread is None else await resources.of_user(user_id).archive.thread_named(thread)
        with as_typed(id_, thread):
            if summary is None:
                return await regenerate_rejected(conversation, user_id, str(id_))
            return await regenerate(conversation, user_id, summary, thread_id=id_, above=above)
    finally:
        await conversation.locks.close()
        await resources.database.close()


def _line(made: Remade) -> str:
    summary = made.summary
    level = "master" if summary.level == MASTER_LEVEL else f"level {summary.level}"
    head = f"{level} {summary.id[:8]}"
    if not made.replaced:
        return f"{head} stays as it is: {made.reason}."
    told = one_line(summary.content, EXCERPT)
    return f"{head} is made again, version {summary.version} by {summary.model or summary.method}: {told}"
