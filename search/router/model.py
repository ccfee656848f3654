"""The local router: whether a message needs the web, by small models on its signs, its words and its embedding.

It decides where the words alone do not and no small language model is set (seed `000`, strategy 1). The weights are
data, in `local_router.json`, with where they come from; `python bench/search_gate.py --train` makes them. English
messages are judged by the mean of a logistic regression (signs, embedding, hashed words and phrases) and of small
networks (signs, embedding), since the bundled embedding model knows English; other languages, another embedding model,
or none are judged by a logistic regression on the signs, which the word lists map to the same groups in every language.
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .features import NAMES, features
from .keywords import KeywordReading

WEIGHTS: Final = Path(__file__).with_name("model.json")
BUCKETS: Final = 1 << 14
"""Buckets of the hashed words and phrases."""
_LANGUAGE: Final = "en"
_WORD: Final = re.compile(r"\w+|[?？]")
_MOST_WORDS: Final = 120
_LONGEST: Final = 3
"""Words of a phrase that is hashed, at most."""

Basis = Literal["signs", "signs, words and embedding"]
Array = npt.NDArray[np.float32]


class Judgement(NamedTuple):
    """Whether to search, how likely a search is needed (in [0, 1]), and what that rests on."""

    needed: bool
    probability: float
    basis: Basis


class LocalRouter:
    """The models, from the data of `local_router.json`.

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
        self._signs = _unpacked(data["signs"])
        self._linear = _unpacked(data["linear"])
        self._networks = [{name: _unpacked(part) for name, part in one.items()} for one in data["networks"]]
        self._vector = len(self._linear) - len(NAMES) - BUCKETS - 1

    def wants_vector(self, reading: KeywordReading, embedding_model: str) -> bool:
        """Whether the embedding of this message, by this model, would count."""
        return embedding_model == self.embedding_model and _LANGUAGE in reading.languages

    def judge(self, text: str, reading: KeywordReading, vector: Sequence[float] | None = None) -> Judgement:
        """Whether the message needs the web.

        Args:
            text: the message.
            reading: what the word lists say about it.
            vector: its embedding, where `wants_vector`; one of another size is not used.
        """
        signs = np.array(features(text, reading), dtype=np.float32)
        if vector is None or _LANGUAGE not in reading.languages or len(vector) != self._vector:
            return self._judged(_sigmoid(float(signs @ self._signs[1:] + self._signs[0])), "signs")
        both = np.concatenate([signs, np.asarray(vector, dtype=np.float32)])
        logit = self._linear[0] + both @ self._linear[1 : 1 + len(both)]
        if found := buckets(text):
            logit += self._linear[1 + len(both) :][found].sum() / math.sqrt(len(found))
        networks = [_sigmoid(_through(network, both)) for network in self._networks]
        probability = (_sigmoid(float(logit)) + sum(networks) / len(networks)) / 2
        return self._judged(probability, "signs, words and embedding")

    def _judged(self, probability: float, basis: Basis) -> Judgement:
        return Judgement(probability >= self.threshold, probability, basis)


def buckets(text: str) -> list[int]:
    """The buckets of the words of a text and of its phrases of two and three words, each once."""
    words = _WORD.findall(text[:4000].lower())[:_MOST_WORDS]
    phrases = {
        " ".join(words[start : start + size])
        for size in range(1, _LONGEST + 1)
        for start in range(len(words) - size + 1)
    }
    return sorted({zlib.crc32(phrase.encode("utf-8", "replace")) % BUCKETS for phrase in phrases})


def _unpacked(data: Mapping[str, Any]) -> Array:
    """An array from JSON: its shape, and its numbers in half precision and base64."""
    return np.frombuffer(base64.b64decode(data["half"]), dtype="<f2").astype(np.float32).reshape(data["shape"])


def _through(network: Mapping[str, Array], values: Array) -> float:
    """The output of a network of one hidden layer of rectified units."""
    hidden = np.maximum(network["inner"] @ values + network["inner_bias"], 0.0)
    return float(network["outer"] @ hidden + network["outer_bias"][0])


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(logit, 60.0))))


@cache
def local_router() -> LocalRouter:
    """The router with the weights that come with everthread: a blocking read, once in a process.

    Raises:
        OSError: the weights cannot be read.
        ValueError: they are broken, or for other features.
    """
    return LocalRouter(json.loads(WEIGHTS.read_text(encoding="utf-8")))
