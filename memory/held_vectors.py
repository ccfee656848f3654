"""`HeldVectors`: the vectors of a user's messages and summaries, by their number of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..storage.memory_changes import VectorRow, matrix
from .columns import Column
from .packed_vectors import PackedVectors
from .postings import NOBODY

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]

_AT_ONCE: Final = 50_000
"""Vectors that are packed at once: before, each takes four times the memory."""

OBJECTS: Final = 350
"""Bytes, about, that the ids of a message or of a vector take."""


class HeldVectors:
    """Vectors, each with an owner, a number; those that were replaced belong to `NOBODY`."""

    def __init__(self) -> None:
        self._by_size: dict[int, tuple[PackedVectors, Column[np.int64], dict[str, int]]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes that they take, about."""
        return sum(
            packed.nbytes + owners.nbytes + OBJECTS * len(packed) for packed, owners, _ in self._by_size.values()
        )

    def add(self, rows: Sequence[VectorRow], owners: Indices) -> None:
        """Add vectors of one number of dimensions; one without length cannot be compared, and is left out."""
        for start in range(0, len(rows), _AT_ONCE):
            self._add(rows[start : start + _AT_ONCE], owners[start : start + _AT_ONCE])

    def _add(self, rows: Sequence[VectorRow], owners: Indices) -> None:
        vectors = matrix(rows)
        size = vectors.shape[1]
        packed, held, at = self._by_size.setdefault(size, (PackedVectors(size), Column(np.int64), {}))
        ids = [row[0] for row in rows]
        for _, owners_before, places in self._by_size.values():
            for id_ in places.keys() & ids:
                owners_before.values[places.pop(id_)] = NOBODY
        lengths = np.einsum("nd,nd->n", vectors, vectors)
        good = np.isfinite(lengths) & (lengths > 0)
        at.update(zip(compress(ids, good), count(len(packed))))
        packed.extend(vectors[good])
        held.extend(owners[good])

    def cosines(self, vector: Sequence[float]) -> tuple[Indices, Numbers]:
        """The owners of all vectors of as many dimensions, and the cosine of each with a vector."""
        if len(vector) not in self._by_size or not np.linalg.norm(vector) > 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        packed, held, _ = self._by_size[len(vector)]
        return held.values, packed.cosines(vector)

    def alike(self, first: Indices, second: Indices) -> Numbers:
        """Cosines of pairs of owners, each by the mean of its vectors; 0 where either has none."""
        if not self._by_size:
            return np.zeros(len(first))
        packed, held, _ = max(self._by_size.values(), key=lambda one: len(one[0]))
        wanted = np.union1d(first, second)
        chunks = np.flatnonzero(np.isin(held.values, wanted))
        vectors = packed.unpacked(chunks)
        sums = np.zeros((len(wanted), vectors.shape[1]), np.float32)
        np.add.at(sums, np.searchsorted(wanted, held.values[chunks]), vectors)
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        pairs = (sums[np.searchsorted(wanted, owners)] for owners in (first, second))
        cosines: Numbers = np.einsum("nd,nd->n", *pairs).astype(np.float64)
        return cosines
