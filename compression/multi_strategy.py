"""The policy of `multi_strategy`: levels of summaries up to a master summary (seed `000`, strategy 3).

Level 1 when `n_sum` messages stand in the chain; level k + 1 when `n_sum_sum` summaries of level k do; the master
summary when `sum_window` of the highest level do, and again for each later one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..settings.summaries import ThresholdSettings
from ..state.chain import ChainView, is_summary, summary_of
from ..state.records import MASTER_LEVEL
from .chain import Batch, cut_after, cut_before, is_open, of_level, open_indices, summaries_of
from .policy import Policy


class MultiStrategy(Policy):
    """The last (or the oldest) `sum_window` of `n_sum` messages; `n_sum_sum` summaries; the master summary."""

    threshold_name = "n_sum"

    def due(self, chain: ChainView, settings: ThresholdSettings) -> Batch | None:
        """The summaries, else the master summary, else the messages that are due.

        A turn adds several messages. The chain is compressed as if they had come one by one: the window is the last of
        the first `n_sum`, and what that makes due above comes before the next window.
        """
        if (above := _next_level(chain, settings) or _master(chain, settings)) is not None:
            return above
        indices = open_indices(chain)[: settings.n_sum]
        return _window(chain, indices, settings) if len(indices) == settings.n_sum else None

    def forced(self, chain: ChainView, settings: ThresholdSettings) -> Batch | None:
        """The window that would be due next, however few messages there are."""
        return _window(chain, open_indices(chain), settings)


def _window(chain: ChainView, indices: Sequence[int], settings: ThresholdSettings) -> Batch | None:
    if not indices:
        return None
    size = len(indices) if settings.summary_window == "topic" else min(settings.sum_window, len(indices))
    if settings.summary_window == "last":
        stop = cut_after(chain, indices[-1] + 1)
        start = max(cut_before(chain, indices[-size]), _run_start(chain, stop))
    else:
        start = indices[0]
        stop = min(cut_after(chain, indices[size - 1] + 1), _run_stop(chain, start))
    return Batch(1, tuple(message for message in chain[start:stop] if is_open(chain, message)))


def _next_level(chain: ChainView, settings: ThresholdSettings) -> Batch | None:
    for level in range(1, settings.max_sum_lvl):
        same = of_level(chain, level)
        if len(same) >= settings.n_sum_sum:
            return Batch(level + 1, tuple(same[: settings.n_sum_sum]))
    return None


def _master(chain: ChainView, settings: ThresholdSettings) -> Batch | None:
    """A level above the highest, from another profile or an earlier setting, counts as the highest."""
    master = of_level(chain, MASTER_LEVEL)
    highest = [m for m in summaries_of(chain) if summary_of(m).level >= settings.max_sum_lvl]
    enough = 1 if master else settings.sum_window
    return Batch(MASTER_LEVEL, (*master, *highest)) if len(highest) >= enough else None


def _run_start(chain: ChainView, stop: int) -> int:
    """Where the unbroken run of messages that ends before `stop` begins; a summary breaks it."""
    start = stop
    while start > 0 and not is_summary(chain[start - 1]):
        start -= 1
    return start


def _run_stop(chain: ChainView, start: int) -> int:
    """Where the unbroken run of messages that begins at `start` ends."""
    stop = start
    while stop < len(chain) and not is_summary(chain[stop]):
        stop += 1
    return stop
