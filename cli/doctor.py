"""`everthread doctor`: threads are checked, and repaired where that is asked; one line for each finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from ..maintenance.findings import Checkup
from ..storage.storage import Storage
from .opening import graph_on, say, thread_of


async def doctor(
    storage: Storage,
    thread: Annotated[str | None, typer.Argument(help="The name or the id of the thread; all by default.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired; nothing is deleted.")] = False,
) -> int:
    """Check one thread or all of the user; prints what is found. Returns 1 where something is left, else 0.

    Raises:
        InputError: the user has no such thread.
    """
    id_ = None if thread is None else await thread_of(storage, thread)
    async with graph_on(storage) as graph:
        from ..maintenance.doctor import examine

        checkups = await examine(graph, storage.settings.user_id, id_, repair=repair)
    for checkup in checkups:
        for line in _lines(checkup, repair=repair):
            say(line)
    if not checkups:
        say("There are no threads yet.")
    if storage.row_security is not None:
        say(f"Row-level security {'keeps' if storage.row_security else 'does not keep'} users apart in this database.")
    return 0 if all(checkup.healthy for checkup in checkups) else 1


def _lines(checkup: Checkup, *, repair: bool) -> Iterator[str]:
    name = checkup.name or checkup.thread_id
    left = {finding.kind for finding in checkup.left}
    if not checkup.findings:
        counts = f"messages: {checkup.messages}, summaries: {checkup.summaries}"
        yield f"{name}: nothing is wrong ({counts})."
    for finding in checkup.findings:
        done = "Repaired" if finding.kind not in left else "Not repaired"
        done = done if repair else "With --repair" if finding.repairable else "Cannot be repaired"
        yield f"{name}: {finding.problem}. {'Harmless' if finding.harmless else done}: {finding.action}."
