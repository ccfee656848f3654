"""`AwayTurns`: turns that could not be written as the storage did not answer, and are written as soon as it does.

Each waits as work that puts it behind whatever its thread holds by then. Turns of a thread are written in their order,
and each is known by the ids of its messages: done once more, it changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Final

from ..state.errors import EverthreadError, StorageUnreachable
from ..storage.loop_thread import node_thread
from ..storage.postgres.thread_lock import ThreadLocks

logger = logging.getLogger(__name__)

AWAY: Final = (
    "The storage does not answer: this turn went on from what this process holds, and is written when it does."
)
"""What is said in such a turn."""

MOST_TURNS: Final = 1_000
"""Turns that may wait, at most."""

_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 1.0, 10.0
_CLOSE_SECONDS: Final = 10.0

Write = Callable[[], Awaitable[None]]


class AwayTurns:
    """The turns of one process that wait, by thread; from any event loop."""

    def __init__(self) -> None:
        self._threads: dict[str, deque[Write]] = {}
        self._change = threading.Lock()
        self._retrying: Future[None] | None = None

    @property
    def count(self) -> int:
        """Turns that wait."""
        return sum(map(len, list(self._threads.values())))

    @property
    def is_full(self) -> bool:
        """Whether no more may wait."""
        return self.count >= MOST_TURNS

    def waits(self, thread_id: str | None) -> bool:
        """Whether turns of a thread wait."""
        return thread_id in self._threads

    def add(self, thread_id: str, write: Write, locks: ThreadLocks) -> None:
        """Have a turn written behind those of its thread that wait; `write` is done while the thread is held."""
        with self._change:
            self._threads.setdefault(thread_id, deque()).append(write)
            if self._retrying is None or self._retrying.done():
                self._retrying = asyncio.run_coroutine_threadsafe(self._retry(locks), node_thread.loop)

    async def catch_up(self, thread_id: str) -> None:
        """Write what waits of a thread that the caller holds.

        Raises:
            StorageUnreachable: the storage does not answer; the rest goes on waiting.
        """
        waiting = self._threads.get(thread_id)
        while waiting:
            try:
                await waiting[0]()
            except StorageUnreachable:
                raise
            except EverthreadError as error:
                logger.error("A turn that waited for the storage was not written: %s", error)  # noqa: TRY400
            waiting.popleft()
        with self._change:
            if not waiting:
                self._threads.pop(thread_id, None)

    async def close(self, locks: ThreadLocks) -> None:
        """Try for some seconds more, and tell what is lost."""
        if self._retrying is not None:
            self._retrying.cancel()
        until = time.monotonic() + _CLOSE_SECONDS
        await self._try(locks)
        while self._threads and time.monotonic() < until:
            await asyncio.sleep(_RETRY_SECONDS)
            await self._try(locks)
        if self._threads:
            logger.error("%d turns were never stored, as the storage did not answer.", self.count)

    async def _retry(self, locks: ThreadLocks) -> None:
        pause = _RETRY_SECONDS
        while self._threads:
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_RETRY_SECONDS)
            await self._try(locks)

    async def _try(self, locks: ThreadLocks) -> None:
        for thread_id in list(self._threads):
            try:
                async with locks.hold(thread_id):
                    await self.catch_up(thread_id)
            except StorageUnreachable:
                return  # the others wait for the same storage
            except EverthreadError as error:
                logger.warning("A thread whose turns wait for the storage could not be had: %s", error)
