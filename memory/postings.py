"""`Postings`: which rows hold a term, and how often: one entry for each time it was said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from .columns import Column

NOBODY: Final = -1
"""The owner of a term or vector that was replaced."""

_TAIL: Final = 20_000
"""Entries that are looked through one by one; with more, and more than an eighth of all, they are sorted in."""

_SIDES: Final[tuple[Literal["left", "right"], ...]] = ("left", "right")

Indices = NDArray[np.int64]


class Postings:
    """Entries of a term's key and a row: most of them sorted by key, the newest in the order in which they came."""

    def __init__(self) -> None:
        self._sorted_keys: Indices = np.zeros(0, dtype=np.int64)
        self._sorted_rows: Indices = np.zeros(0, dtype=np.int64)
        self._keys: Column[np.int64] = Column(np.int64)
        self._rows: Column[np.int64] = Column(np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes that the entries take."""
        return self._sorted_keys.nbytes + self._sorted_rows.nbytes + self._keys.nbytes + self._rows.nbytes

    def add(self, keys: Indices, rows: Indices) -> None:
        """Add entries."""
        self._keys.extend(keys)
        self._rows.extend(rows)

    def forget(self, rows: Indices) -> None:
        """Take out the entries of these rows."""
        for held in (self._sorted_rows, self._rows.values):
            held[np.isin(held, rows)] = NOBODY

    def rows_of(self, key: int) -> Indices:
        """The rows that hold a term, each as often as it does; in no order."""
        self.sort_in()
        start, stop = (int(np.searchsorted(self._sorted_keys, key, side)) for side in _SIDES)
        found: Indices = np.concatenate([self._sorted_rows[start:stop], self._rows.values[self._keys.values == key]])
        held: Indices = found[found != NOBODY]
        return held

    def together(self, asked: NDArray[np.bool_], *, without: Sequence[int], most: int) -> tuple[Indices, Indices]:
        """Of all terms of some rows, a number for the term and a row that holds it: an entry each time, in no order.

        Args:
            asked: of each row whether it is one of them; with one more, False, for `NOBODY`.
            without: keys of terms that are left out.
            most: times that a term is said; what is said more often is left out, too.
        """
        self.sort_in()
        own = [self._sorted_keys[asked[self._sorted_rows]], self._keys.values[asked[self._rows.values]]]
        wanted = np.setdiff1d(np.concatenate(own), without)
        newest = np.flatnonzero(np.isin(self._keys.values, wanted))
        of_newest = np.searchsorted(wanted, self._keys.values[newest])
        starts, stops = (np.searchsorted(self._sorted_keys, wanted, side) for side in _SIDES)
        few = stops - starts + np.bincount(of_newest, minlength=len(wanted)) <= most
        starts, sizes = starts[few], (stops - starts)[few]
        of_sorted = np.repeat(np.flatnonzero(few), sizes)
        at = np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        newest, of_newest = newest[few[of_newest]], of_newest[few[of_newest]]
        held = np.concatenate([self._sorted_rows[at], self._rows.values[newest]])
        known = held != NOBODY
        return np.concatenate([of_sorted, of_newest])[known], held[known]

    def sort_in(self) -> None:
        """Sort in what was added, where that is much: when it is looked for, once after all that is read at once."""
        if len(self._keys.values) <= max(_TAIL, len(self._sorted_keys) // 8):
            return
        keys = np.concatenate([self._sorted_keys, self._keys.values])
        rows = np.concatenate([self._sorted_rows, self._rows.values])
        held = rows != NOBODY
        order = np.argsort(keys[held])
        self._sorted_keys, self._sorted_rows = keys[held][order], rows[held][order]
        self._keys, self._rows = Column(np.int64), Column(np.int64)
