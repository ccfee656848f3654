"""`Places`: where a user's messages stand, thread by thread in the order they were said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Place = tuple[str, int]
"""Thread and sequence number of a message."""


class Places(NamedTuple):
    """Where a user's messages stand, thread by thread in their order: arrays of one length n.

    Attributes:
        names: the threads' ids, in the order of the arrays.
        starts: where each thread begins in the arrays, and n at the end.
        seqs: the sequence number in the thread.
        times: seconds since 1970.
        lengths: terms in the message.
    """

    names: Sequence[str]
    starts: NDArray[np.int64]
    seqs: NDArray[np.int64]
    times: NDArray[np.float64]
    lengths: NDArray[np.float64]

    def at(self, position: int) -> Place:
        """The place at a position of the arrays."""
        thread = int(np.searchsorted(self.starts, position, side="right")) - 1
        return self.names[thread], int(self.seqs[position])

    def span(self, thread: str) -> tuple[int, int]:
        """Where a thread begins and ends in the arrays; the same number twice for one that is not there."""
        if thread not in self.names:
            return 0, 0
        number = self.names.index(thread)
        return int(self.starts[number]), int(self.starts[number + 1])

    def position(self, thread: str, seq: int) -> int:
        """The position of a place in the arrays; -1 for one that is not there."""
        start, stop = self.span(thread)
        found = int(start + np.searchsorted(self.seqs[start:stop], seq))
        return found if found < stop and self.seqs[found] == seq else -1


def places(threads: Mapping[str, tuple[Sequence[int], Sequence[float], Sequence[int]]]) -> Places:
    """The places of messages given by thread: their sequence numbers, in order, their times and their lengths."""
    parts = list(threads.values())
    return Places(
        list(threads),
        np.cumsum([0, *(len(seqs) for seqs, _, _ in parts)]),
        np.array([seq for seqs, _, _ in parts for seq in seqs], dtype=np.int64),
        np.array([moment for _, times, _ in parts for moment in times], dtype=np.float64),
        np.array([length for _, _, lengths in parts for length in lengths], dtype=np.float64),
    )
