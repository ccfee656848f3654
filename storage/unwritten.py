"""`Unwritten`: what a storage that does not answer has yet to take, in its order.

A reply was paid for before its checkpoint is stored. So what cannot be stored for now waits in this process, and is
written with the next use of the checkpoints, of whatever thread, or when these are closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..state.errors import ClaimLostError, StorageError, StorageUnreachable
from .storage import Storage

logger = logging.getLogger(__name__)

Write = Callable[[], Awaitable[None]]


class _Waiting(NamedTuple):
    """A write, and what is done instead where another process has gone on with the thread meanwhile."""

    work: Write
    too_late: Write | None


class Unwritten:
    """Used on the database's loop only.

    Args:
        storage: whose `write_error` says that something waits.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._threads: dict[str, deque[_Waiting]] = {}
        self._turn = asyncio.Lock()

    async def write(self, thread_id: str, work: Write, too_late: Write | None = None) -> None:
        """Do `work` after what waits of its thread; where the storage does not answer, it waits.

        Args:
            thread_id: which.
            work: what writes; it must be safe to repeat.
            too_late: what is done instead where it has waited, and another process has gone on with the thread.

        Raises:
            StorageError: the storage refuses it.
            ClaimLostError: another process has gone on with the thread.
        """
        try:
            await self.catch_up(thread_id)
            await work()
        except StorageUnreachable as error:
            self._threads.setdefault(thread_id, deque()).append(_Waiting(work, too_late))
            self._storage.write_error = f"The reply is not kept yet, and will be with a later turn: {error}"
            logger.error("The end of a turn waits in memory: %s", error)  # noqa: TRY400  # the sentence says it all

    async def catch_up(self, thread_id: str | None = None) -> None:
        """Write what waits, of this thread first.

        Raises:
            StorageError: what waits of this thread cannot be written; of another thread it goes on waiting.
        """
        if not self._threads:
            return
        async with self._turn:
            for waiting in sorted(self._threads, key=lambda other: other != thread_id):
                try:
                    await self._write_all(waiting)
                except StorageError:
                    if waiting == thread_id:
                        raise
            if not self._threads:
                self._storage.write_error = None

    def waits(self, thread_id: str) -> bool:
        """Whether the end of a turn of this thread waits."""
        return thread_id in self._threads

    def forget(self, thread_id: str) -> None:
        """What waits of a thread that is deleted is not written."""
        self._threads.pop(thread_id, None)

    def give_up(self) -> None:
        """Tell what could not be written when all is closed."""
        if self._threads:
            logger.error("The end of the last turn in %d threads was never stored.", len(self._threads))

    async def _write_all(self, thread_id: str) -> None:
        works = self._threads.get(thread_id, deque())
        while works:
            try:
                await works[0].work()
            except ClaimLostError:
                logger.error("The end of a turn came too late: another process has gone on with the thread.")  # noqa: TRY400
                if works[0].too_late is not None:
                    await works[0].too_late()
            works.popleft()
        self._threads.pop(thread_id, None)
