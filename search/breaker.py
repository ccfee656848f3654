"""Circuit breakers: an engine that failed several times in a row is left alone for a while, in the whole process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from ..state.errors import SearchError

FAILURES: Final = 3
"""Failures in a row that open a breaker."""
FIRST_REST: Final = 30.0
"""Seconds of the first rest; each one after a failed trial is twice as long."""
LONGEST_REST: Final = 600.0


class Breaker:
    """Whether one engine may be asked: closed (yes), open (no), or half-open (one trial at a time).

    Args:
        clock: the time in seconds, from any start.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._rest = FIRST_REST
        self._open_until: float | None = None
        self._on_trial = False

    def admits(self) -> bool:
        """Whether the engine may be asked; an asker must then say `succeeded`, `failed` or `given_up`."""
        if self._open_until is None:
            return True
        if self._on_trial or self._clock() < self._open_until:
            return False
        self._on_trial = True
        return True

    @property
    def seconds_left(self) -> float:
        """How long the engine is still left alone."""
        return 0.0 if self._open_until is None else max(0.0, self._open_until - self._clock())

    def succeeded(self) -> None:
        """The engine answered: the breaker closes."""
        self._failures, self._rest, self._open_until, self._on_trial = 0, FIRST_REST, None, False

    def failed(self, error: SearchError | None = None) -> None:
        """The engine failed: after several times, or where it asks for a longer pause itself, the breaker opens."""
        asked_for = (error.retry_after or 0.0) if error is not None else 0.0
        self._failures += 1
        if self._on_trial:
            self._rest = min(self._rest * 2, LONGEST_REST)
        if self._on_trial or self._failures >= FAILURES:
            self._open_until = self._clock() + max(self._rest, min(asked_for, LONGEST_REST))
        elif asked_for >= FIRST_REST:
            self._open_until = self._clock() + min(asked_for, LONGEST_REST)
        self._on_trial = False

    def given_up(self) -> None:
        """The asker was cancelled: nothing is known of the engine."""
        self._on_trial = False


class Breakers:
    """The breakers of a process, one an engine."""

    def __init__(self) -> None:
        self._breakers: dict[str, Breaker] = {}

    def of(self, engine: str) -> Breaker:
        """The engine's breaker."""
        return self._breakers.setdefault(engine, Breaker())

    def clear(self) -> None:
        """Forget all failures."""
        self._breakers.clear()


process_breakers: Final = Breakers()
"""Those that all graphs of a process share."""
