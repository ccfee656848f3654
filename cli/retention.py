"""`everthread retention`: what is due goes, or is only counted; what went before; the retention of a thread."""

from __future__ import annotations

from typing import Annotated

import typer

from ..settings.retention import Retention
from ..state.errors import InputError
from ..state.records import RetentionRun
from ..storage.storage import Storage
from .opening import graph_on, say, thread_of


async def retention(
    storage: Storage,
    run: Annotated[bool, typer.Option("--run", help="Delete what is due, of all users.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what is due.")] = False,
    thread: Annotated[
        str | None, typer.Option("--thread", help="The name or the id of a thread of yours, to give it its own.")
    ] = None,
    own: Annotated[
        str | None,
        typer.Option("--own", help="What the thread has instead of `retention`, as messages=30d; none for nothing."),
    ] = None,
) -> int:
    """Apply the retention, or show what the last runs have deleted. Returns 1 where another process is at it, else 0.

    Raises:
        InputError: the user has no such thread, or it is not said what it is to have.
        SettingsError: that is no retention.
    """
    if (thread is None) is not (own is None):
        raise InputError("Give a thread its own retention with --thread NAME --own messages=30d, or --own none.")
    id_ = None if thread is None else await thread_of(storage, thread)
    async with graph_on(storage) as graph:
        from ..maintenance.retention import retain_thread, retention_runs, run_retention

        if id_ is not None:
            await retain_thread(graph, storage.settings.user_id, id_, None if own == "none" else own)
            say(f"{thread}: {'as the others' if own == 'none' else own}.")
            if not (run or dry_run):
                return 0
        if run or dry_run:
            done = await run_retention(graph, dry_run=dry_run)
            say(_said(done, dry_run=dry_run))
            return 0 if done else 1
        runs = await retention_runs(graph)
    say(f"Retention: {Retention.model_validate(dict(storage.settings.retention))}.")
    for past in runs:
        say(f"{past.started_at:%Y-%m-%d %H:%M} {past}{f' ({past.error})' if past.error else ''}")
    return 0


def _said(run: RetentionRun | None, *, dry_run: bool) -> str:
    if run is None:
        return "Another process is at it."
    return f"{'Would delete' if dry_run else 'Deleted'}: {run}."
