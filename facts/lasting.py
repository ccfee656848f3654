"""Whether what a clause says lasts and can be understood alone, where no word list decides: a small trained gate.

A logistic regression on the words of a clause and a few signs of it, for languages in `text/data/lasting.json`
(English). A word weighs what it means to the default embedding model, along the one direction that parts "I keep bees"
from "we are in this together" (`bench/fact_gate.py` finds it), so no model is needed here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from ..state.fact_records import FactKind
from ..text.data import load

_OPEN: Final[frozenset[FactKind]] = frozenset({"biography", "preference", "goal"})
"""Kinds of which chat is full; a constraint or an appointment is kept."""

_TASTE: Final = "taste "
"""What the attributes of tastes begin with; any other, such as a name, a home or an end, is kept."""

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

SIGNS: Final = (
    "length", "short", *_PATTERNS, "number", "name", "breaks off", "preference", "goal", "taste", "unknown",
)  # fmt: skip
"""What is looked at beside the words; "unknown" is the share of words without a weight."""


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


def may_pass(kind: FactKind, attribute: str | None) -> bool:
    """Whether a fact of this kind and attribute is kept only if it lasts."""
    return kind in _OPEN and (attribute is None or attribute.startswith(_TASTE))


def lasts(text: str, plain: str, kind: FactKind, language: str, attribute: str | None = None) -> bool:
    """Whether a clause is likely to say something lasting that is understood alone; True in a language without weights.

    Args:
        text: as it was said.
        plain: its normalized text.
        kind: of the fact that it would be.
        language: its code.
        attribute: of that fact.
    """
    gate = _gates().get(language)
    if gate is None or not may_pass(kind, attribute):
        return True
    words = plain.split()
    of_words = sum(gate.words.get(word, 0.0) for word in words) / math.sqrt(max(1, len(words)))
    found = signs(text, plain, kind, attribute, gate.words)
    of_signs = sum(weight * sign for weight, sign in zip(gate.signs, found, strict=True))
    return gate.constant + of_words + of_signs >= gate.least


def signs(text: str, plain: str, kind: FactKind, attribute: str | None, known: Container[str]) -> list[float]:
    """One value for each of `SIGNS`; `known` are the words that have a weight, the other arguments as for `lasts`."""
    words = plain.split()
    size = len(words)
    found = [pattern.search(plain) is not None for pattern in _PATTERNS.values()]
    number, name = any(map(str.isdigit, plain)), _NAME.search(text) is not None
    breaks_off = _BREAKS_OFF.search(plain) is not None
    taste = attribute is not None
    flags = [size <= _FEW, *found, number, name, breaks_off, kind == "preference", kind == "goal", taste]
    unknown = sum(word not in known for word in words) / max(1, size)
    return [min(size, _MANY) / 10, *map(float, flags), unknown]


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
