"""`ThreadLocks`: one turn at a time in a thread, first come first served, in this process and between processes.

Within a process it is a lock on the database's loop. Between processes it is what the storage offers: of Postgres,
`PostgresLocks`, of SQLite `FileLocks`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from ...state.errors import StorageError
from ..loop_thread import io_thread

POLL_SECONDS: Final = 0.05
"""Between two looks whether another process has given a lock back."""

_WAIT_SECONDS: Final = 600.0


class ThreadLocks:
    """The locks of one process, which keep turns of the same process apart."""

    def __init__(self) -> None:
        self._turns: dict[str, asyncio.Lock] = {}
        self._waiting: dict[str, int] = {}

    @asynccontextmanager
    async def hold(self, thread_id: str, *, here_alone: bool = False) -> AsyncIterator[None]:
        """Wait until no other turn runs in this thread, and keep others out; `here_alone`: those of this process.

        Raises:
            StorageError: another turn has been running for longer than ten minutes.
        """
        await io_thread.run(self._take(thread_id, here_alone=here_alone))
        try:
            yield
        finally:
            await io_thread.run(self._give_back(thread_id, here_alone=here_alone))

    async def retake(self, thread_id: str) -> None:
        """Claim a held thread again, whose claim between processes was lost. Nobody of this process comes in between.

        Raises:
            StorageError: another process has had it for longer than ten minutes.
        """
        await io_thread.run(self._retake(thread_id))

    @asynccontextmanager
    async def try_hold(self, thread_id: str) -> AsyncIterator[bool]:
        """Keep others out where no turn runs in this thread and none waits; whether that is so.

        Raises:
            StorageError: it cannot be told.
        """
        is_taken = await io_thread.run(self._try(thread_id))
        try:
            yield is_taken
        finally:
            if is_taken:
                await io_thread.run(self._give_back(thread_id))

    @contextmanager
    def hold_sync(self, thread_id: str, *, here_alone: bool = False) -> Iterator[None]:
        """`hold` for sync code."""
        io_thread.run_sync(self._take(thread_id, here_alone=here_alone))
        try:
            yield
        finally:
            io_thread.run_sync(self._give_back(thread_id, here_alone=here_alone))

    async def close(self) -> None:
        """Give back what holds the locks."""

    async def _take(self, thread_id: str, *, here_alone: bool = False) -> None:
        turn = self._turns.setdefault(thread_id, asyncio.Lock())
        self._waiting[thread_id] = self._waiting.get(thread_id, 0) + 1
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await turn.acquire()
                try:
                    if not here_alone:
                        await self._take_between_processes(thread_id)
                except BaseException:
                    turn.release()
                    raise
        except BaseException as error:
            self._forget(thread_id)
            if isinstance(error, TimeoutError):
                raise _too_long(thread_id) from None
            raise

    async def _retake(self, thread_id: str) -> None:
        await self._give_back_between_processes(thread_id)
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._take_between_processes(thread_id)
        except TimeoutError:
            raise _too_long(thread_id) from None

    async def _try(self, thread_id: str) -> bool:
        if thread_id in self._turns:
            return False
        turn = self._turns[thread_id] = asyncio.Lock()
        self._waiting[thread_id] = 1
        await turn.acquire()  # at once: nobody else has it
        is_taken = False
        try:
            is_taken = await self._try_between_processes(thread_id)
        finally:
            if not is_taken:
                turn.release()
                self._forget(thread_id)
        return is_taken

    async def _give_back(self, thread_id: str, *, here_alone: bool = False) -> None:
        try:
            if not here_alone:
                await self._give_back_between_processes(thread_id)
        finally:
            self._turns[thread_id].release()
            self._forget(thread_id)

    def _forget(self, thread_id: str) -> None:
        """Drop the lock of a thread that nobody waits for, so that their number does not grow."""
        self._waiting[thread_id] -= 1
        if not self._waiting[thread_id]:
            del self._waiting[thread_id], self._turns[thread_id]

    async def _take_between_processes(self, thread_id: str) -> None:
        """Wait until no other process has the thread: one process alone has nothing to wait for."""

    async def _try_between_processes(self, thread_id: str) -> bool:
        """Take the thread if no other process has it; whether it was taken."""
        await self._take_between_processes(thread_id)
        return True

    async def _give_back_between_processes(self, thread_id: str) -> None:
        """Let another process have the thread; must not raise."""


def _too_long(thread_id: str) -> StorageError:
    return StorageError(
        f"Another turn in thread {thread_id!r} has been running for over {_WAIT_SECONDS:.0f} s: wait for it, or end "
        "the process that runs it."
    )
