"""The scale of cosines: what a model gives to texts that have nothing in common, brought to that of the default model.

Models differ: for some any two sentences have a cosine of 0.75, and a threshold that fits one model lets everything or
nothing through with another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

PROBES: Final = (
    "The cat sleeps on the warm stove.",
    "Interest rates rose by half a percent in spring.",
    "How do I sort a list in Python?",
    "The bridge was closed because of strong wind.",
    "She plays the violin in an orchestra.",
    "Tomatoes need a lot of water and sun.",
    "Der Zug nach Wien hat eine Stunde Verspätung.",
    "El partido terminó sin goles.",
    "La recette demande deux œufs et du sucre.",
    "明天早上八点开会。",
    "Bu gece gökyüzü çok açık.",
    "The new law on tenancy takes effect in July.",
)
"""Sentences that have nothing to do with each other."""

USUAL: Final = 0.05
"""The mean cosine of the probes with the default model, in whose scale `similarity_threshold` is given."""

_ODD: Final = 0.2
"""The mean cosine of the probes from which a model's cosines are brought to that scale."""

Numbers = NDArray[np.float64]


def level(vectors: Sequence[Sequence[float]]) -> float:
    """The mean cosine of the vectors of `PROBES` with each other; `USUAL` where there are no such cosines."""
    matrix = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if len(matrix) < 2 or not (lengths > 0).all():
        return USUAL
    cosines = (matrix / lengths) @ (matrix / lengths).T
    return float(cosines[np.triu_indices(len(matrix), 1)].mean())


def calibrated(cosines: Numbers, of_unrelated: float) -> Numbers:
    """Cosines on the scale of the default model: 1 stays 1, and the level of unrelated texts becomes `USUAL`.

    Args:
        cosines: as the model gives them, in [-1, 1].
        of_unrelated: the level of the model. A usual one changes nothing, and neither does one of 1.
    """
    if not _ODD <= of_unrelated < 1:
        return cosines
    return np.maximum(-1.0, 1 - (1 - cosines) * (1 - USUAL) / (1 - of_unrelated))
