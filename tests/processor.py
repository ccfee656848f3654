"""What tests of hostile text share: how much processor time it takes, whatever else the machine does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

ORDINARY = "The ferry to the island leaves at nine, and my sister waits on the pier with two bags of apples. "
"""A text that nobody made to be slow."""

TIMES_ORDINARY = 100
"""How many times what an ordinary text of the same length takes; the worst that is known takes 26."""

GROWTH = 8
"""How many times what a quarter of the text takes; 4 where it is linear, 16 where it is quadratic."""

TOO_SHORT = 0.02
"""Seconds below which nothing is told from what takes no time at all."""


def seconds(work: Callable[[str], Any], text: str) -> float:
    """The processor seconds of this thread, the least of three."""
    taken = []
    for _ in range(3):
        started = time.thread_time()
        work(text)
        taken.append(time.thread_time() - started)
    return min(taken)


def filled(unit: str, length: int) -> str:
    """A text of that length that repeats the unit."""
    return (unit * (length // len(unit) + 1))[:length]


def assert_cannot_keep_busy(work: Callable[[str], Any], unit: str, length: int) -> None:
    """A text of one unit over and over takes time in step with its length, and no other order than an ordinary one."""
    ordinary = seconds(work, filled(ORDINARY, length))
    for _ in range(3):  # a noisy machine may spoil one measurement, and no machine makes slow work fast
        whole, quarter = seconds(work, filled(unit, length)), seconds(work, filled(unit, length // 4))
        most = min(TIMES_ORDINARY * ordinary, GROWTH * quarter)
        if whole < max(TOO_SHORT, most):
            return
    raise AssertionError(f"{unit!r}: {whole:.3f} s, a quarter of it {quarter:.3f} s, an ordinary text {ordinary:.3f} s")
