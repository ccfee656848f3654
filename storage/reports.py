"""`TurnReports`: the report of every turn, kept so that an old one is found without reading a thread's checkpoints."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from ..state.messages import clean
from ..state.report_records import TurnReport
from .user_rows import UserRows
from .values import Json

_LEEWAY: Final = timedelta(minutes=1)
"""That forgetting may take until it is seen by others, and clocks may differ."""


class TurnReports:
    """Reports of the turns of one user, one row a turn; a turn that is done once more replaces its report.

    Args:
        rows: the user's.
    """

    def __init__(self, rows: UserRows) -> None:
        self._rows = rows

    async def keep(self, thread_id: str, report: TurnReport) -> TurnReport:
        """Keep the report of a turn; returns it as it is kept.

        Where the user had something forgotten while the turn ran, it is kept without what it quotes.

        Raises:
            StorageError: the database fails.
        """
        without: dict[str, Any] = {"memories": (), "summaries": (), "search": None}
        bare, whole = report.model_copy(update=without), clean(report.model_dump(mode="json"))
        kept = await self._rows.fetch(
            "reports.keep",
            thread_id=thread_id,
            turn=report.turn,
            started_at=report.started_at,
            since=report.started_at - _LEEWAY,
            report=Json(whole),
            bare=Json({**whole, **without}),
        )
        return bare if kept[0]["is_bare"] else report

    async def find(self, thread_id: str, turn: int) -> dict[str, Any] | None:
        """The report of a turn as JSON, or None. It may be of another version of everthread.

        Raises:
            StorageError: the database fails.
        """
        found = await self._rows.fetch("reports.find", thread_id=thread_id, turn=turn)
        return found[0]["report"] if found else None

    async def last_turn(self, thread_id: str) -> int:
        """The number of the last turn that has a report; 0 where there is none.

        Raises:
            StorageError: the database fails.
        """
        found = await self._rows.fetch("reports.last", thread_id=thread_id)
        return int(found[0]["turn"] or 0)

    async def between(self, thread_id: str, since: datetime, until: datetime, *, limit: int) -> list[TurnReport]:
        """The newest reports of a thread's turns that began between two moments, those that this version can read.

        Raises:
            StorageError: the database fails.
        """
        values = {"thread_id": thread_id, "since": since, "until": until, "limit": limit}
        rows = await self._rows.fetch("reports.between", **values)
        return [report for row in rows if (report := TurnReport.read(row["report"])) is not None]

    async def newest(self, thread_id: str | None = None, *, limit: int) -> list[tuple[str, TurnReport]]:
        """The newest reports of a thread, or of all the user's, each with its thread, the oldest first.

        Raises:
            StorageError: the database fails.
        """
        rows = await self._rows.fetch("reports.newest", thread_id=thread_id, limit=limit)
        read = ((row["thread_id"], TurnReport.read(row["report"])) for row in reversed(rows))
        return [(thread, report) for thread, report in read if report is not None]
