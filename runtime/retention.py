"""Retention: what is older than the operator wants it kept goes, in the background, a little at a time.

One process does it at a time. A thread in which a turn runs is left to the next run; a turn that comes waits for one
batch at most. After each batch it rests, in the background for much longer than that took, so that turns have the
storage for themselves.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from ..settings.retention import KEEPS, Retention
from ..state.errors import EverthreadError
from ..state.records import RetentionRun, now
from ..storage.open import locks_of
from ..storage.postgres.thread_lock import ThreadLocks
from ..storage.retention_rows import Due, RetentionRows, ThreadRetention
from ..storage.user_rows import UserRows
from .forget import forget
from .forget_wanted import Wanted

if TYPE_CHECKING:
    from .resources import Resources

logger = logging.getLogger(__name__)

FIRST_SECONDS: Final = 30.0
"""After the graph was opened, before it is looked whether a run is due."""

EVERY: Final = timedelta(hours=1)
"""Between two runs, of whichever process."""

RESTS: Final = 9.0
"""How much longer than a batch it rests after it in the background: it takes a tenth of the time."""

_TRIES: Final = 5
_TRY_SECONDS: Final = 1.0
"""How often, and after how long, it is tried again where a turn runs, before that is left to the next run."""

_LOCK: Final = "everthread.retention"


async def repeat_retention(resources: Resources, stop: asyncio.Event) -> None:
    """Delete what is due once an hour, until `stop` is set.

    Args:
        resources: of the graph.
        stop: of the loop that this runs on.
    """
    seconds = FIRST_SECONDS
    while not await _is_set(stop, seconds):
        try:
            if await _is_due(RetentionRows(resources.database), resources.settings.retention):
                await RetentionPass(resources, stop, rests=RESTS).run()
        except EverthreadError as error:
            logger.warning("Retention could not be applied: %s", error)
        except Exception as error:  # nobody else would know; its text may quote what was said
            logger.error("Retention could not be applied: %s", type(error).__name__)  # noqa: TRY400
        seconds = EVERY.total_seconds()


class _BusyError(Exception):
    """A turn runs in a thread."""


class _FreeThreads(ThreadLocks):
    """Locks that wait for no turn.

    Args:
        locks: those of the graph.
    """

    def __init__(self, locks: ThreadLocks) -> None:
        super().__init__()
        self._locks = locks

    @asynccontextmanager
    async def hold(self, thread_id: str, *, here_alone: bool = False) -> AsyncIterator[None]:
        """Keep others out.

        Raises:
            _BusyError: a turn runs there.
        """
        async with self._locks.try_hold(thread_id) as is_free:
            if not is_free:
                raise _BusyError
            yield


class RetentionPass:
    """One run over all threads.

    Args:
        resources: of the graph.
        stop: ends it between two batches.
        rests: after each batch, for so many times as long as that took.
    """

    def __init__(self, resources: Resources, stop: asyncio.Event | None = None, *, rests: float = 1.0) -> None:
        self._resources = resources
        self._of_all = resources.settings.retention
        self._rows = RetentionRows(resources.database)
        self._locks = _FreeThreads(resources.locks)
        self._stop = stop or asyncio.Event()
        self._rests = rests
        self._counts: Counter[str] = Counter()
        self._now, self._begun = now(), time.perf_counter()

    async def run(self) -> RetentionRun | None:
        """Delete what is due, and keep a record of it; None where another process is at it.

        Raises:
            EverthreadError: it could not go on. What went until then is gone, and stands in the record.
        """
        locks = await asyncio.to_thread(locks_of, self._resources.database)
        try:
            async with locks.try_hold(_LOCK) as is_mine:
                return await self._recorded() if is_mine else None
        finally:
            await locks.close()

    async def preview(self) -> RetentionRun:
        """What a run would delete now.

        Raises:
            StorageError: the storage fails.
        """
        self._counts["search_results"] = await self._rows.search_results(self._search_results_before)
        async for rows, _, due in self._due():
            number = len(await due.checkpoints(rows))
            self._counts.update(messages=due.messages, reports=due.reports, checkpoints=number)
            self._counts["threads"] += bool(due.messages or due.reports or number)
        return self._report()

    async def _recorded(self) -> RetentionRun:
        error = "It was ended before it was done."
        try:
            is_done = await self._apply()
            error = "" if is_done else error
        except EverthreadError as failure:
            error = str(failure)
            raise
        finally:
            run = self._report(error)
            logger.info("Retention deleted: %s", run)
            await self._rows.keep(run)
        return run

    def _report(self, error: str = "") -> RetentionRun:
        counts = {name: number for name, number in self._counts.items() if name in RetentionRun.model_fields}
        milliseconds = round((time.perf_counter() - self._begun) * 1000, 1)
        return RetentionRun(started_at=self._now, milliseconds=milliseconds, error=error or None, **counts)

    @property
    def _search_results_before(self) -> datetime:
        """Results are as old as what they were searched for."""
        return self._now - min(self._of_all.search_cache, self._of_all.messages or self._of_all.search_cache)

    async def _apply(self) -> bool:
        """Whether it came to the end."""
        before = self._search_results_before
        await self._drain("search_results", lambda: self._rows.delete_search_results(before))
        async for rows, retention, due in self._due():
            if self._stop.is_set():
                return False
            gone = self._counts.total()
            is_free = (
                await self._reports(rows, retention, due)
                and await self._checkpoints(rows, due)
                and await self._messages(rows, retention, due)
            )
            self._counts["threads"] += self._counts.total() > gone
            self._counts["busy"] += not is_free and not self._stop.is_set()
        return not self._stop.is_set()

    async def _due(self) -> AsyncIterator[tuple[UserRows, Retention, Due]]:
        """The threads of which something is due, each with the rows of its user and its retention."""
        after, all_threads = "", self._of_all.limits_threads
        while page := await self._rows.threads(after, all_threads=all_threads):
            for user_id in dict.fromkeys(thread.user_id for thread in page):
                rows = self._resources.upkeep_of(user_id).rows
                own = {thread.thread_id: self._retention(thread) for thread in page if thread.user_id == user_id}
                for due in await Due.of(rows, own, self._now):
                    yield rows, own[due.thread_id], due
            after = page[-1].thread_id

    def _retention(self, thread: ThreadRetention) -> Retention:
        if thread.retention is None:
            return self._of_all
        try:
            own = Retention.model_validate(thread.retention)
        except ValidationError:  # it is damaged: what goes once does not come back
            logger.warning("The retention of thread %s cannot be read: nothing of it goes.", thread.thread_id)
            own = KEEPS
        return own.over(self._of_all)

    async def _reports(self, rows: UserRows, retention: Retention, due: Due) -> bool:
        if retention.reports is None or not due.reports:
            return True
        before = self._now - retention.reports
        return await self._drain("reports", lambda: due.delete_reports(rows, before))

    async def _messages(self, rows: UserRows, retention: Retention, due: Due) -> bool:
        """Forget what was said, with what was made from it, in other threads as well."""
        if retention.messages is None or not due.messages:
            return True
        user, before = self._resources.upkeep_of(rows.user_id), self._now - retention.messages

        async def delete() -> int:
            ids = await due.old_messages(rows, before)
            if not ids:
                return 0
            wanted = Wanted("age", ids={due.thread_id: frozenset(ids)}, quotes=())
            gone = await forget(user, wanted, asked_by="retention", locks=self._locks)
            self._counts.update(summaries=gone.summaries + gone.rewritten, reports=gone.reports)
            return gone.messages

        return await self._drain("messages", delete)

    async def _checkpoints(self, rows: UserRows, due: Due) -> bool:
        """Whether all that are due are gone, with the values that only they had.

        The last of them goes after these values: so that the next run goes on where one has ended early.
        """
        earlier = await due.checkpoints(rows)
        if not earlier:
            return True
        last = [earlier.pop()]
        return (
            await self._drain("checkpoints", lambda: due.delete_checkpoints(rows, earlier), of=due.thread_id)
            and await self._drain("values", lambda: due.delete_values(rows), of=due.thread_id)
            and await self._drain("checkpoints", lambda: due.delete_checkpoints(rows, last), of=due.thread_id)
            and await self._drain("values", lambda: due.delete_values(rows), of=due.thread_id)
        )

    async def _drain(self, kind: str, delete: Callable[[], Awaitable[int]], *, of: str | None = None) -> bool:
        """Delete batch after batch until nothing is left; False where a turn runs in the thread, or it is to end.

        Args:
            kind: what is counted.
            delete: deletes a batch; how many that were.
            of: the thread in which no turn may run meanwhile.
        """
        while not self._stop.is_set():
            begun = time.perf_counter()
            if (number := await self._tried(delete, of)) is None:
                return False
            if not number:
                return True
            self._counts[kind] += number
            await _is_set(self._stop, (time.perf_counter() - begun) * self._rests)
        return False

    async def _tried(self, delete: Callable[[], Awaitable[int]], of: str | None) -> int | None:
        """How many a batch has deleted; None where a turn runs in one of its threads again and again."""
        for _ in range(_TRIES):
            try:
                async with AsyncExitStack() as held:
                    if of is not None:
                        await held.enter_async_context(self._locks.hold(of))
                    return await delete()
            except _BusyError:
                if await _is_set(self._stop, _TRY_SECONDS):
                    break
        return None


async def _is_due(rows: RetentionRows, of_all: Retention) -> bool:
    if not of_all.given and not await rows.threads("", all_threads=False):
        return False
    last = await rows.runs(1)
    return not last or now() - last[0].started_at >= EVERY / 2


async def _is_set(stop: asyncio.Event, seconds: float) -> bool:
    """Whether it is set within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await stop.wait()
    except TimeoutError:
        return False
