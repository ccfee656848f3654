"""Admission: how many turns run at once in a process; who waits, in which order; who is refused, and until when.

Users take turns: however many turns one of them asks for, the next of another user waits for one of them. Where the
line is full, the user who has most in it gives a place to one who has less.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from ..settings.operator import Turns
from ..state.errors import OverloadError

Ticket = Future[None]

_LONGEST: Final = 16
"""Turns that wait, at most, for each that may run: where turns are so quick that the wait alone bounds nothing."""

_NEWEST: Final = 0.1
"""Weight of the newest turn in how long a turn takes."""

_FIRST_SECONDS: Final = 1.0
"""How long a turn takes, before any has ended."""


class Admission:
    """The turns that run in this process, and those that wait; from any thread and event loop.

    Args:
        turns: how many may run at once, and how long one may have to wait.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[Ticket]] = {}
        self._seconds = _FIRST_SECONDS
        self.running = 0

    @property
    def waiting(self) -> int:
        """How many turns wait."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def admitted(self, user_id: str) -> AsyncIterator[None]:
        """Wait until a turn of this user may run.

        Raises:
            OverloadError: it would have to wait too long.
        """
        if (ticket := self._ask(user_id)) is not None:
            try:
                async with asyncio.timeout(self._turns.wait):
                    await asyncio.wrap_future(ticket)
            except BaseException as error:
                self._give_up(user_id, ticket)
                if isinstance(error, TimeoutError):
                    raise self._overload() from None
                raise
        with self._run():
            yield

    @contextmanager
    def admitted_sync(self, user_id: str) -> Iterator[None]:
        """`admitted` for sync code."""
        if (ticket := self._ask(user_id)) is not None:
            try:
                ticket.result(self._turns.wait)
            except BaseException as error:
                ticket.cancel()
                self._give_up(user_id, ticket)
                if isinstance(error, FutureTimeoutError):
                    raise self._overload() from None
                raise
        with self._run():
            yield

    @contextmanager
    def _run(self) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self._ended(time.monotonic() - begun)

    def _ask(self, user_id: str) -> Ticket | None:
        """A ticket to wait with; None where the turn may run at once."""
        with self._lock:
            if self.running < self._turns.at_once and not self._waiting:
                self.running += 1
                return None
            if self._is_full():
                self._make_room(user_id)
            ticket = Ticket()
            self._waiting.setdefault(user_id, deque()).append(ticket)
            return ticket

    def _is_full(self) -> bool:
        return self._expected() > self._turns.wait or self.waiting >= _LONGEST * self._turns.at_once

    def _make_room(self, user_id: str) -> None:
        """Take the last turn of the user who has most in the line out of it.

        Raises:
            OverloadError: nobody has more in it than this user would have.
        """
        most = max(self._waiting, key=lambda other: len(self._waiting[other]), default=user_id)
        if most == user_id or len(self._waiting[most]) <= len(self._waiting.get(user_id, ())) + 1:
            raise self._overload()
        last = self._waiting[most].pop()
        if last.set_running_or_notify_cancel():
            last.set_exception(self._overload())

    def _ended(self, seconds: float | None) -> None:
        with self._lock:
            self.running -= 1
            if seconds is not None:
                self._seconds += (seconds - self._seconds) * _NEWEST
            self._let_run()

    def _let_run(self) -> None:
        """Let the first turn of the next user run, and put this user behind the others."""
        while self._waiting and self.running < self._turns.at_once:
            user_id = next(iter(self._waiting))
            tickets = self._waiting.pop(user_id)
            ticket = tickets.popleft()
            if tickets:
                self._waiting[user_id] = tickets
            if ticket.set_running_or_notify_cancel():
                self.running += 1
                ticket.set_result(None)

    def _give_up(self, user_id: str, ticket: Ticket) -> None:
        """The turn is not waited for any more; it may have been let in meanwhile."""
        with self._lock:
            tickets = self._waiting.get(user_id)
            if tickets is not None and ticket in tickets:
                tickets.remove(ticket)
                if not tickets:
                    del self._waiting[user_id]
            was_let_in = ticket.done() and not ticket.cancelled() and ticket.exception() is None
        if was_let_in:
            self._ended(None)

    def _expected(self) -> float:
        """Seconds that a turn at the end of the line waits."""
        return (self.waiting + 1) * self._seconds / self._turns.at_once

    def _overload(self) -> OverloadError:
        seconds = max(1, math.ceil(self._expected()))
        return OverloadError(
            f"{self.running} turns run in this process and {self.waiting} wait: retry in {seconds} s. More may run at "
            "once with EVERTHREAD_TURNS (at_once=), and in more processes.",
            seconds,
        )
