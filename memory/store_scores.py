"""Scores of a vector store as cosines, whatever the store means by them.

Some stores return a similarity, some a distance, some a "relevance"; taking a distance for a similarity removes the
best matches first (report mem0 #3283: eleven adapters). So the scale is learned: the cosines of a few hits are
computed, and the scale that explains their scores is used from then on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

Scale = Callable[[float], float]
"""From a score to a cosine in [-1, 1]."""

SCALES: Final[Mapping[str, Scale]] = {
    "cosine": lambda score: score,
    "cosine distance": lambda score: 1 - score,
    "(1 + cosine) / 2": lambda score: 2 * score - 1,
    "1 - (1 + cosine) / 2": lambda score: 1 - 2 * score,
    "squared distance": lambda score: 1 - score / 2,
    "distance": lambda score: 1 - score * score / 2,
    "relevance of a distance": lambda score: 1 - (1 - score) ** 2,
    "relevance of a squared distance": lambda score: 1 - (1 - score) / math.sqrt(2),
}
"""How stores score vectors of length 1, by what the score is."""

_TOLERANCE: Final = 0.02
_LEAST: Final = 3
"""Different scores from which a scale is learned."""


def fit(scores: Sequence[float], cosines: Sequence[float]) -> str | None:
    """The name of the scale under which the scores are these cosines; None where none or several fit."""
    if len({round(score, 3) for score in scores}) < _LEAST:
        return None
    fitting = [
        name
        for name, scale in SCALES.items()
        if all(abs(scale(score) - cosine) <= _TOLERANCE for score, cosine in zip(scores, cosines, strict=True))
    ]
    return fitting[0] if len(fitting) == 1 else None


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors; 0 where one has no length."""
    length = math.sqrt(sum(x * x for x in one) * sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / length if length else 0.0
