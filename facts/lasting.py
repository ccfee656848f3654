"""Whether what a clause says lasts and can be understood alone, where no word list decides: a small trained gate.

A logistic regression on the words of a clause and a few signs of it, for languages in `text/data/lasting.json`
(English). A word weighs what it means to the default embedding model, along the one direction that parts "I keep bees"
from "we are in this together" (`bench/fact_gate.py` finds it), so no model is needed here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from ..state.fact_records import FactKind
from ..text.data import load

_OPEN: Final[frozenset[FactKind]] = frozenset({"biography", "preference", "goal"})
"""Kinds of which chat is full; a constraint or an appointment is kept."""

_FEW: Final = 4
_MANY: Final = 20
_WORDS: Final = {
    "elsewhere": "it|them|they|these|those|this|that|one|ones|there|him|her|he|she|its|their",
    "together": "we|us|our",
    "own": "my",
    "stressed": "so|really|just|definitely|super|totally|pretty|very|always",
    "often": "every|each|usually|often|used|since|years?",
    "article": "an?",
    "now": "soon|lately|recently|today|now|yet|week|month|yesterday|weekend|next",
}
_PATTERNS: Final = {name: re.compile(rf"\b(?:{words})\b") for name, words in _WORDS.items()}
_NAME: Final = re.compile(r"(?<!^)(?!\bI\b)[A-Z]")
_BREAKS_OFF: Final = re.compile(r"\b(?:to|of|with|for|about|in|on|at|the|an?|and|than|as)$")

SIGNS: Final = ("length", "short", *_PATTERNS, "number", "name", "breaks off", "preference", "goal")
"""What is looked at beside the words."""


class _Gate(NamedTuple):
    """The weights of one language.

    Attributes:
        least: the log odds from which a clause is kept.
        constant: the log odds of a clause without words and signs.
        signs: a weight for each of `SIGNS`.
        words: the weight of each word that has one.
    """

    least: float
    constant: float
    signs: tuple[float, ...]
    words: Mapping[str, float]


def lasts(text: str, plain: str, kind: FactKind, language: str) -> bool:
    """Whether a clause is likely to say something lasting that is understood alone; True in a language without weights.

    Args:
        text: as it was said.
        plain: its normalized text.
        kind: of the fact that it would be.
        language: its code.
    """
    gate = _gates().get(language)
    if gate is None or kind not in _OPEN:
        return True
    words = plain.split()
    of_words = sum(gate.words.get(word, 0.0) for word in words) / math.sqrt(max(1, len(words)))
    of_signs = sum(weight * sign for weight, sign in zip(gate.signs, signs(text, plain, kind), strict=True))
    return gate.constant + of_words + of_signs >= gate.least


def signs(text: str, plain: str, kind: FactKind) -> list[float]:
    """One value for each of `SIGNS`; the arguments as for `lasts`."""
    size = len(plain.split())
    found = [pattern.search(plain) is not None for pattern in _PATTERNS.values()]
    number, name = any(map(str.isdigit, plain)), _NAME.search(text) is not None
    breaks_off = _BREAKS_OFF.search(plain) is not None
    flags = [size <= _FEW, *found, number, name, breaks_off, kind == "preference", kind == "goal"]
    return [min(size, _MANY) / 10, *map(float, flags)]


@cache
def _gates() -> dict[str, _Gate]:
    data: dict[str, Any] = load("lasting")
    gates = {}
    for language, values in data.items():
        pairs = (pair.rsplit(":", 1) for pair in values["words"].split())
        words = {word: int(hundredths) / 100 for word, hundredths in pairs}
        of_signs = tuple(float(values["signs"][name]) for name in SIGNS)
        gates[language] = _Gate(values["least"], values["constant"], of_signs, words)
    return gates
