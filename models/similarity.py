"""The scale of cosines: what a model gives to questions and answers, brought to that of the default model.

Models differ: for some any two sentences have a cosine of 0.75, for others an answer has hardly 0.3, and a threshold
that fits one model lets everything or nothing through with another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

QUESTIONS: Final = (
    "Where does our pet take its nap?",
    "How did the cost of loans change?",
    "Which instrument does the musician have?",
    "What do these vegetables require to grow?",
)
ANSWERS: Final = (
    "The cat sleeps on the warm stove.",
    "Interest rates rose by half a percent in spring.",
    "She plays the violin in an orchestra.",
    "Tomatoes need a lot of water and sun.",
)
"""Of these questions, in other words."""

_APART: Final = 0.03
"""How far answers must stand out, in cosine, for a model to have a scale: vectors from a hash have none."""

Numbers = NDArray[np.float64]


class Scale(NamedTuple):
    """The mean cosine of the questions with the answers of others, and with their own."""

    unrelated: float
    answered: float


USUAL: Final = Scale(-0.01, 0.43)
"""Of the default model, in whose scale `similarity_threshold` is given."""

OF_LANGUAGES: Final = Scale(-0.01, 0.24)
"""Of the multilingual one, in twelve languages: `bench/languages.py`, its half for tuning."""

SPREAD: Final[Mapping[str, float]] = MappingProxyType(
    {
        "ar": 0.93, "de": 0.94, "es": 0.93, "fr": 0.98, "hi": 1.10, "it": 0.96, "ja": 0.95, "ko": 0.89, "pt": 0.77,
        "ru": 1.02,
    }
)  # fmt: skip
"""How far apart its cosines of a question with what is no answer lie in a language, where English has 1.

`bench/languages.py`, its half for tuning."""


def scale_of(questions: Sequence[Sequence[float]], answers: Sequence[Sequence[float]]) -> Scale:
    """The scale of a model by its vectors of `QUESTIONS` and `ANSWERS`; `USUAL` where they tell of none."""
    asked, told = (np.asarray(vectors, dtype=np.float64) for vectors in (questions, answers))
    lengths = np.linalg.norm(asked, axis=1)[:, None] * np.linalg.norm(told, axis=1)
    if not (lengths > 0).all():
        return USUAL
    cosines = asked @ told.T / lengths
    own = np.eye(len(cosines), dtype=bool)
    scale = Scale(float(cosines[~own].mean()), float(cosines[own].mean()))
    is_told = scale.unrelated > -1 and scale.unrelated + _APART <= scale.answered < 1
    return scale if is_told else USUAL


def in_language(scale: Scale, language: str | None) -> Scale:
    """The scale for a question in a language: where cosines lie closer together, an answer stands out by less."""
    if scale != OF_LANGUAGES:
        return scale
    return Scale(scale.unrelated, scale.unrelated + SPREAD.get(language or "", 1) * (scale.answered - scale.unrelated))


def calibrated(cosines: Numbers, scale: Scale) -> Numbers:
    """Cosines on the scale of the default model: -1 and 1 stay, and what lies between answers as there.

    Beyond answers the same line goes on, as far as 1: else it would be flat where a model's cosines lie close together.

    Args:
        cosines: as the model gives them, in [-1, 1].
        scale: of the model.
    """
    if scale == USUAL:
        return cosines
    found = np.interp(cosines, (-1, *scale, 1), (-1, *USUAL, 1))
    rise = (USUAL.answered - USUAL.unrelated) / (scale.answered - scale.unrelated)
    beyond = USUAL.answered + rise * (cosines - scale.answered)
    return np.where(cosines > scale.answered, np.clip(beyond, found, 1), found)


def similarities(cosines: Numbers) -> Numbers:
    """Similarities in [0, 1] of calibrated cosines; NaN stays.

    What has nothing to do with a question has 0.5, an answer in other words 0.9: so the seed's threshold of 0.7 lies
    halfway between the two.
    """
    found: Numbers = np.interp(cosines, (-1, *USUAL, 1), (0, 0.5, 0.9, 1))
    return found
