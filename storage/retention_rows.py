"""`RetentionRows`: what retention finds due, and deletes, in batches that nobody waits for long."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from ..settings.retention import Retention
from ..state.records import RetentionRun
from .entering import across_users, enter
from .readable import UNREADABLE
from .storage import Connection, Storage
from .user_rows import UserRows
from .values import Json, Row

PAGE: Final = 200
"""Threads that are looked at with one statement."""

CHECKPOINTS: Final = 50
"""Checkpoints of a batch: each may hold a megabyte, where the storage keeps its values in it."""

MESSAGES: Final = 500
"""Messages of a batch: with each the newest checkpoints are rewritten, whose number it does not change."""

ROWS: Final = 1_000
"""Rows of a batch that are small."""

RUNS: Final = 1_000
"""Runs whose record is kept: the last six weeks."""

_ALL: Final = 1_000_000_000
_EPOCH: Final = datetime(1582, 10, 15, tzinfo=UTC)


class ThreadRetention(NamedTuple):
    """A thread, whose it is, and its own retention as text; None where it has none."""

    thread_id: str
    user_id: str
    retention: str | None


class Due(NamedTuple):
    """What of a thread is due: numbers of messages and reports, and the oldest checkpoint that stays; None: all do."""

    thread_id: str
    messages: int
    reports: int
    oldest: str | None

    @classmethod
    async def of(cls, rows: UserRows, retentions: Mapping[str, Retention], now: datetime) -> list[Due]:
        """What is due of threads of a user, each with its retention.

        Raises:
            StorageError: the storage fails.
        """
        asked = [{"thread_id": thread_id, **_limits(retention, now)} for thread_id, retention in retentions.items()]
        return [cls(**row) for row in await rows.fetch("retention.due", due=Json(asked))]

    async def old_messages(self, rows: UserRows, before: datetime) -> list[str]:
        """The ids of a batch of the messages that were said before a time, the oldest first.

        Raises:
            StorageError: the storage fails.
        """
        found = await rows.fetch("retention.messages", thread_id=self.thread_id, before=before, most=MESSAGES)
        return [row["id"] for row in found]

    async def checkpoints(self, rows: UserRows) -> list[tuple[str, str]]:
        """Namespaces and ids of the checkpoints that are due, the last one of the whole graph.

        Raises:
            StorageError: the storage fails.
        """
        if self.oldest is None:
            return []
        found = await rows.fetch("retention.checkpoints", thread_id=self.thread_id, oldest=self.oldest)
        return [(row["checkpoint_ns"], row["checkpoint_id"]) for row in found]

    async def delete_checkpoints(self, rows: UserRows, which: list[tuple[str, str]]) -> int:
        """Delete a batch of these, with what tasks wrote after them, and take it off the list; how many.

        Raises:
            StorageError: the storage fails; nothing was deleted.
        """
        batch = which[:CHECKPOINTS]
        namespaces, ids = [namespace for namespace, _ in batch], [id_ for _, id_ in batch]
        values = {"thread_id": self.thread_id, "namespaces": namespaces, "ids": ids}
        if batch:
            await rows.transaction(("retention.delete_writes", values), ("retention.delete_checkpoints", values))
        del which[:CHECKPOINTS]
        return len(batch)

    async def delete_values(self, rows: UserRows) -> int:
        """Delete a batch of the values that no checkpoint has any more; how many. No turn may run in the thread.

        Raises:
            StorageError: the storage fails.
        """
        return len(await rows.fetch("retention.delete_blobs", thread_id=self.thread_id, most=ROWS))

    async def delete_reports(self, rows: UserRows, before: datetime) -> int:
        """Delete a batch of the reports of turns that began before a time; how many.

        Raises:
            StorageError: the storage fails.
        """
        return len(await rows.fetch("retention.delete_reports", thread_id=self.thread_id, before=before, most=ROWS))


class RetentionRows:
    """Threads of all users, and what is no user's.

    Args:
        storage: where they are.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def threads(self, after: str, *, all_threads: bool) -> list[ThreadRetention]:
        """The next page of threads after an id: all of them, or those with a retention of their own.

        Raises:
            StorageError: the storage fails.
        """
        limits = {"after": after, "all_threads": all_threads, "most": PAGE}
        rows = await across_users(self._storage, "retention.threads", **limits)
        return [ThreadRetention(row["thread_id"], row["user_id"], row["retention"]) for row in rows]

    async def search_results(self, before: datetime) -> int:
        """How many cached search results are older.

        Raises:
            StorageError: the storage fails.
        """
        return int((await self._fetch("retention.search_results", before=before))[0]["due"])

    async def delete_search_results(self, before: datetime) -> int:
        """Delete a batch of those that are older; how many.

        Raises:
            StorageError: the storage fails.
        """
        return len(await self._fetch("retention.delete_search_results", before=before, most=ROWS))

    async def keep(self, run: RetentionRun) -> None:
        """Keep the record of a run.

        Raises:
            StorageError: the storage fails.
        """
        report = Json(run.model_dump(mode="json"))
        await self._fetch("retention.keep_run", started_at=run.started_at, report=report)
        await self._fetch("retention.prune_runs", most=RUNS - 1)

    async def runs(self, most: int) -> list[RetentionRun]:
        """The last runs that can be read, the newest first.

        Raises:
            StorageError: the storage fails.
        """
        runs: list[RetentionRun] = []
        for row in await self._fetch("retention.runs", most=most):
            with suppress(*UNREADABLE):
                runs.append(RetentionRun(**row["report"]))
        return runs

    async def _fetch(self, name: str, **values: Any) -> list[Row]:
        async def work(connection: Connection) -> list[Row]:
            async with connection.pipeline():
                await enter(self._storage, connection, None)
                cursor = await connection.execute(self._storage.queries[name], values)
            return await cursor.fetchall() if cursor.description is not None else []

        return await self._storage.run(work, one_statement=True)


def _limits(retention: Retention, now: datetime) -> dict[str, Any]:
    def moment(name: str) -> str | None:
        age = getattr(retention, name)
        return None if age is None else (now - age).isoformat(timespec="microseconds")

    return {
        "messages": moment("messages"),
        "reports": moment("reports"),
        "kept": retention.given.get("checkpoints") or _ALL,
        "since": "" if retention.checkpoint_age is None else _id_at(now - retention.checkpoint_age),
    }


def _id_at(moment: datetime) -> str:
    """The least id that a checkpoint of this time can have: LangGraph's are UUIDs of version 6, which begin with it."""
    ticks = round((moment - _EPOCH).total_seconds() * 10_000_000)
    return f"{ticks >> 28:08x}-{ticks >> 12 & 0xFFFF:04x}-6{ticks & 0xFFF:03x}-8000-000000000000"
