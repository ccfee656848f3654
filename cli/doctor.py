"""`everthread doctor`: threads are checked, and repaired where that is asked; one line for each finding."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from ..graph.open import conversation_on
from ..maintenance.doctor import examine
from ..maintenance.findings import Checkup
from ..runtime.resources import Resources
from ..settings.settings import Settings
from .naming import as_typed


def run_doctor(thread: str | None, values: dict[str, Any], *, repair: bool) -> int:
    """Check one thread or all of the user; prints what is found. Returns 1 where something is left, else 0.

    Args:
        thread: the name or the id of the thread; None for all.
        values: settings by name.
        repair: whether what can be repaired is repaired.

    Raises:
        InputError: the user has no such thread.
        StorageError: the database cannot be started or reached.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    checkups = asyncio.run(_checkups(thread, Settings(**values), repair=repair))
    for checkup in checkups:
        for line in _lines(checkup, repair=repair):
            console.print(line)
    if not checkups:
        console.print("There are no threads yet.")
    return 0 if all(checkup.healthy for checkup in checkups) else 1


async def _checkups(thread: str | None, settings: Settings, *, repair: bool) -> list[Checkup]:
    resources, user_id = Resources(settings), settings.user_id
    conversation = conversation_on(resources)
    try:
        id_ = None if thread is None else await resources.of_user(user_id).archive.thread_named(thread)
        with as_typed(id_, thread):
            return await examine(conversation, user_id, id_, repair=repair)
    finally:
        await conversation.locks.close()
        await resources.database.close()


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
