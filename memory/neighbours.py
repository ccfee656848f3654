"""Neighbours: what each message lends to those said around it, less with each word between them."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

REACH: Final = 8
"""Messages up to this far away count as neighbours."""

WINDOW: Final = 2 * REACH + 1
"""A message and its neighbours."""

NEAR: Final = 20.0
"""Terms of distance at which a neighbour's term counts half."""

ONE_SITTING: Final = timedelta(hours=36)
"""A longer silence parts two sittings, and there are no neighbours across it: talk that goes on the next day does."""

Weights = NDArray[np.float32]
"""One row a message: what the one d positions later lends it stands in column `REACH` + d; 0 for what lends nothing."""


def neighbours(begins_thread: NDArray[np.bool_], times: NDArray[np.float64], lengths: NDArray[np.float64]) -> Weights:
    """The weights of messages that stand in the order in which they were said, thread by thread.

    Args:
        begins_thread: whether a thread begins with it.
        times: seconds since 1970.
        lengths: in terms.
    """
    number = len(times)
    weights = np.zeros((number, WINDOW), np.float32)
    weights[:, REACH] = 1
    sittings = sittings_of(begins_thread, times)
    middles = np.cumsum(lengths) - lengths / 2
    for away in range(1, min(REACH, number - 1) + 1):
        same = sittings[away:] == sittings[:-away]
        lent = same / (1 + (middles[away:] - middles[:-away]) / NEAR)
        weights[:-away, REACH + away] = lent
        weights[away:, REACH - away] = lent
    return weights


def sittings_of(begins_thread: NDArray[np.bool_], times: NDArray[np.float64]) -> NDArray[np.int64]:
    """The number of the sitting in which each message was said; the arguments as for `neighbours`."""
    return np.cumsum(begins_thread | (np.abs(np.diff(times, prepend=np.inf)) > ONE_SITTING.total_seconds()))


def with_neighbours(
    values: NDArray[np.float32], weights: Weights, at: NDArray[np.int64] | None = None
) -> NDArray[np.float32]:
    """Each value and what its neighbours lend: sums of shape (..., k).

    Args:
        values: of shape (..., n).
        weights: of shape (k, w) with an odd w: of the (w - 1) / 2 neighbours on each side.
        at: the k positions whose sums are asked for; None for all.
    """
    if not len(weights):
        return values[..., :0]
    reach = weights.shape[1] // 2
    padded = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(reach, reach)])
    windows = sliding_window_view(padded, weights.shape[1], axis=-1)
    if at is not None:
        windows = windows[..., at, :]
    summed: NDArray[np.float32] = np.einsum("...nw,nw->...n", windows, weights)
    return summed
