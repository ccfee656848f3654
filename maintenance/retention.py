"""Retention at a word: what is due goes now, or is only counted; a thread has its own; what went before is shown."""

from __future__ import annotations

from ..graph.conversation import Conversation
from ..runtime.retention import RetentionPass
from ..settings.retention import Retention
from ..settings.settings import Settings
from ..state.errors import InputError
from ..state.records import RetentionRun
from ..storage.retention_rows import RetentionRows
from ..storage.user_rows import UserRows


async def run_retention(graph: Conversation, *, dry_run: bool = False) -> RetentionRun | None:
    """Delete what is due by the operator's `retention` and those of threads, of all users.

    An open graph does that by itself, once an hour.

    Args:
        graph: as `open_graph` gives it.
        dry_run: nothing is deleted, and it is counted what would go. Summaries are not counted.

    Returns:
        What went; None where another process is at it.

    Raises:
        EverthreadError: it could not go on. What went until then is gone, and stands in its record.
    """
    run = RetentionPass(graph.resources)
    return await run.preview() if dry_run else await run.run()


async def retention_runs(graph: Conversation, limit: int = 10) -> list[RetentionRun]:
    """What the last runs have deleted, the newest first.

    Raises:
        StorageError: the storage fails.
    """
    return await RetentionRows(graph.resources.database).runs(limit)


async def retain_thread(graph: Conversation, user_id: str, thread_id: str, retention: Retention | str | None) -> None:
    """Give a thread a retention of its own, shorter or longer: what it names counts instead of the operator's.

    Args:
        graph: as `open_graph` gives it.
        user_id: whose thread.
        thread_id: its id.
        retention: as the setting, "messages=30d,reports=forever" say; None takes it from the thread.

    Raises:
        SettingsError: that is no retention.
        InputError: the user has no such thread.
        StorageError: the storage fails.
    """
    own = None if retention is None else str(Settings(retention=retention).retention) or None
    rows = UserRows(graph.resources.database, user_id)
    if not await rows.fetch("retention.of_thread", thread_id=thread_id, retention=own):
        raise InputError(f"There is no thread {thread_id!r} of this user: `everthread threads` lists them.")
