"""The local router: whether a message needs the web, by logistic regression on its signs and its embedding.

It decides where the words alone do not and no small model is set (seed `000`, strategy 1). The weights are data, in
`local_router.json`, with where they come from; `python bench/search_gate.py --train` makes them. The embedding counts
for English messages, since the bundled model knows English; other languages, another embedding model, or none are
decided by the signs, which the word lists map to the same groups in every language.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from .features import NAMES, features
from .keywords import Reading

WEIGHTS: Final = Path(__file__).with_name("local_router.json")
_LANGUAGE: Final = "en"

Basis = Literal["signs", "signs and embedding"]


class Judgement(NamedTuple):
    """Whether to search, how likely a search is needed (in [0, 1]), and what that rests on."""

    needed: bool
    probability: float
    basis: Basis


class Linear(NamedTuple):
    """One logistic regression: a bias, weights of the signs, and weights of the embedding (or none)."""

    bias: float
    signs: Sequence[float]
    vector: Sequence[float] = ()

    def probability(self, signs: Sequence[float], vector: Sequence[float] = ()) -> float:
        """The probability for these features; sizes must fit."""
        own = zip(self.signs, signs, strict=True)
        embedded = zip(self.vector, vector, strict=True)
        logit = self.bias + sum(a * b for a, b in own) + sum(a * b for a, b in embedded)
        return 1 / (1 + math.exp(-max(-60.0, min(logit, 60.0))))


class LocalRouter:
    """The two regressions, from the data of `local_router.json`.

    Raises:
        ValueError: the weights were made for other features.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        if list(data["features"]) != list(NAMES):
            raise ValueError(
                "The weights of the local router are for other features: run bench/search_gate.py --train."
            )
        self.threshold = float(data["threshold"])
        self.embedding_model = str(data["embedding_model"])
        self._by_signs = Linear(**data["signs"])
        self._by_both = Linear(**data["signs_and_embedding"])

    def wants_vector(self, reading: Reading, embedding_model: str) -> bool:
        """Whether the embedding of this message, by this model, would count."""
        return embedding_model == self.embedding_model and _LANGUAGE in reading.languages

    def judge(self, text: str, reading: Reading, vector: Sequence[float] | None = None) -> Judgement:
        """Whether the message needs the web.

        Args:
            text: the message.
            reading: what the word lists say about it.
            vector: its embedding, where `wants_vector`; one of another size is not used.
        """
        signs = features(text, reading)
        both = vector is not None and _LANGUAGE in reading.languages and len(vector) == len(self._by_both.vector)
        probability = (
            self._by_both.probability(signs, vector)
            if both and vector is not None
            else self._by_signs.probability(signs)
        )
        return Judgement(probability >= self.threshold, probability, "signs and embedding" if both else "signs")


@cache
def local_router() -> LocalRouter:
    """The router with the weights that come with everthread: a blocking read, once in a process.

    Raises:
        OSError: the weights cannot be read.
        ValueError: they are broken, or for other features.
    """
    return LocalRouter(json.loads(WEIGHTS.read_text(encoding="utf-8")))
