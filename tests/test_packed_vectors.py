"""Vectors in a byte a number: half the memory of a message, and what is nearest stays nearest."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from variants import each

from everthread.memory.packed_vectors import PackedVectors


def packed(vectors: NDArray[np.float32]) -> PackedVectors:
    found = PackedVectors(vectors.shape[1])
    for part in np.array_split(vectors, 3):
        found.extend(part)
    return found


@pytest.mark.parametrize("dimensions", each([384, 1536], quick=1))
def test_the_ten_nearest_are_those_of_the_vectors_as_they_were(dimensions: int) -> None:
    chance = np.random.default_rng(1)
    vectors = chance.normal(size=(4000, dimensions)).astype(np.float32)
    held, exact = packed(vectors), vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = []
    for asked in chance.normal(size=(40, dimensions)):
        cosines, true = held.cosines(asked.tolist()), exact @ (asked / np.linalg.norm(asked))
        assert cosines == pytest.approx(true, abs=0.01)
        shares.append(len({*np.argsort(-cosines)[:10]} & {*np.argsort(-true)[:10]}) / 10)
    assert np.mean(shares) >= 0.98


def test_it_does_not_matter_how_long_a_vector_is_and_none_is_nearer_than_itself() -> None:
    vectors = np.array([[3e-9, 4e-9, 0], [3e9, 4e9, 1], [0, 0, -2], [1, 0, 0]], np.float32)
    cosines = packed(vectors).cosines([0.6, 0.8, 0.0])
    assert cosines == pytest.approx([1, 1, 0, 0.6], abs=0.002)
    assert cosines.max() <= 1 + 1e-6
