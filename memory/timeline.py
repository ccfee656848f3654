"""`Timeline`: where a user's messages stand, thread by thread in the order they were said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .neighbours import REACH, Weights, neighbours, sittings_of, with_neighbours


class Timeline(NamedTuple):
    """Where a user's messages stand, thread by thread in their order: arrays of one length n.

    Attributes:
        names: the threads' ids, in the order of the arrays.
        starts: where each thread begins in the arrays, and n at the end.
        seqs: the sequence number in the thread.
        times: seconds since 1970.
        lengths: terms in the message.
        weights: what its neighbours lend to each.
        around: terms in it and, as much as they lend, in its neighbours.
    """

    names: Sequence[str]
    starts: NDArray[np.int64]
    seqs: NDArray[np.int64]
    times: NDArray[np.float64]
    lengths: NDArray[np.float64]
    weights: Weights
    around: NDArray[np.float32]

    @classmethod
    def at_rest(
        cls,
        names: Sequence[str],
        starts: NDArray[np.int64],
        seqs: NDArray[np.int64],
        times: NDArray[np.float64],
        lengths: NDArray[np.float64],
    ) -> Self:
        """The timeline with its weights."""
        weights = neighbours(_begins(starts, len(seqs)), times, lengths)
        return cls(names, starts, seqs, times, lengths, weights, with_neighbours(lengths.astype(np.float32), weights))

    def span(self, thread: str) -> tuple[int, int]:
        """Where a thread begins and ends in the arrays; the same number twice for one that is not there."""
        if thread not in self.names:
            return 0, 0
        number = self.names.index(thread)
        return int(self.starts[number]), int(self.starts[number + 1])

    @property
    def sittings(self) -> NDArray[np.int64]:
        """The number of the sitting in which each message was said."""
        return sittings_of(_begins(self.starts, len(self.seqs)), self.times)

    def last_seq(self, thread: str) -> int:
        """The sequence number of the last message of a thread; -1 for one that is not there."""
        start, stop = self.span(thread)
        return int(self.seqs[stop - 1]) if stop > start else -1

    def only(self, thread: str) -> Self:
        """The timeline of one thread: nothing is lent across threads."""
        start, stop = self.span(thread)
        part = slice(start, stop)
        return type(self)(
            [thread],
            np.array([0, stop - start]),
            self.seqs[part],
            self.times[part],
            self.lengths[part],
            self.weights[part],
            self.around[part],
        )

    def with_next(
        self, thread: int, name: str, seqs: NDArray[np.int64], times: NDArray[np.float64], lengths: NDArray[np.float64]
    ) -> tuple[Self, int]:
        """The timeline with messages after all others of a thread; with it, the position of the first of them.

        Args:
            thread: the number of the thread, or the next number for one that is new.
            name: its id.
            seqs: sequence numbers, higher than those of the thread.
            times: seconds since 1970.
            lengths: in terms.
        """
        names, starts = self.names, self.starts
        if thread == len(names):
            names, starts = [*names, name], np.append(starts, starts[-1])
        at, number = int(starts[thread + 1]), len(seqs)
        starts = starts.copy()
        starts[thread + 1 :] += number
        every_seq, every_time, every_length = (
            np.insert(old, at, new)
            for old, new in zip((self.seqs, self.times, self.lengths), (seqs, times, lengths), strict=True)
        )
        # Only what stands near to the new ones is lent something else than before.
        low, high = max(0, at - REACH), min(len(every_seq), at + number + REACH)
        seen = slice(max(0, low - REACH), min(len(every_seq), high + REACH))
        near = neighbours(_begins(starts, len(every_seq))[seen], every_time[seen], every_length[seen])
        sums = with_neighbours(every_length[seen].astype(np.float32), near)
        changed = slice(low - seen.start, high - seen.start)
        weights = np.concatenate([self.weights[:low], near[changed], self.weights[high - number :]])
        around = np.concatenate([self.around[:low], sums[changed], self.around[high - number :]])
        return type(self)(names, starts, every_seq, every_time, every_length, weights, around), at


def _begins(starts: NDArray[np.int64], number: int) -> NDArray[np.bool_]:
    """Whether a thread begins with each of this many messages."""
    begins = np.zeros(number, dtype=bool)
    begins[starts[starts < number]] = True
    return begins
