"""`everthread regenerate`: summaries are made again from their sources."""

from __future__ import annotations

from typing import Annotated

import typer

from ..state.compression_records import Regenerated
from ..state.errors import InputError
from ..state.records import MASTER_LEVEL
from ..state.report_records import EXCERPT
from ..storage.storage import Storage
from ..text.shorten import one_line
from .opening import graph_on, say, thread_of


async def regenerate(
    storage: Storage,
    summary: Annotated[str | None, typer.Argument(help="The id of a summary, or its beginning.")] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="The name or the id of the thread it is in.")] = None,
    all_rejected: Annotated[
        bool, typer.Option("--all-rejected", help="All summaries of the thread whose model's text was rejected.")
    ] = False,
    above: Annotated[bool, typer.Option("--above", help="The summaries that were made from it, too.")] = False,
) -> int:
    """Make one summary again, or all rejected ones of a thread; prints a line for each. Returns the exit code.

    Raises:
        InputError: nothing of the kind is there, or it is not said what is meant.
        ModelError: the summary model failed, and the settings want no fallback.
    """
    if all_rejected and (summary is not None or thread is None):
        raise InputError("--all-rejected makes all of a thread again: give the thread with --thread, and no summary.")
    if not all_rejected and summary is None:
        raise InputError("Give the id of a summary, or its beginning; `everthread trace THREAD` shows those there are.")
    user_id, id_ = storage.settings.user_id, None if thread is None else await thread_of(storage, thread)
    async with graph_on(storage) as graph:
        from ..maintenance import regenerate as again

        if summary is None:
            done = await again.regenerate_rejected(graph, user_id, str(id_))
        else:
            done = await again.regenerate(graph, user_id, summary, thread_id=id_, above=above)
    for made in done:
        say(_line(made))
    if not done:
        say("No summary of this thread was rejected.")
    return 0 if all(made.replaced for made in done) else 1


def _line(made: Regenerated) -> str:
    summary = made.summary
    level = "master" if summary.level == MASTER_LEVEL else f"level {summary.level}"
    head = f"{level} {summary.id[:8]}"
    if not made.replaced:
        return f"{head} stays as it is: {made.reason}."
    excerpt = one_line(summary.content, EXCERPT)
    by = f"version {summary.version} by {summary.model or summary.method}"
    drift = f", drift {made.drift:.0%}" if made.drift is not None else ""
    return f"{head} is made again, {by}{drift}: {excerpt}"
