"""Words that are near in meaning: what was told about a dog bears on a question about pets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from .data import load
from .fold import bare
from .language import language_of
from .stems import stem
from .terms import ENGLISH
from .words import words

_MOST: Final = 40
"""Terms of a question up to which they have related ones: a longer text says by itself what it is about."""


def related_terms(question: str, terms: Sequence[str]) -> list[dict[str, float]]:
    """For each term of a question in English the terms that are related to it, with their cosines; names have none.

    The words are near in meaning to the default embedding model (`bench/related_words.py`): so a message is found by
    words even where it is not by its meaning as a whole.

    Args:
        question: any text.
        terms: what `search_terms` finds in it.
    """
    if len(terms) > _MOST or language_of(question) not in (None, ENGLISH):
        return [{} for _ in terms]
    names = names_in(question)
    return [_near(term) if term not in names else {} for term in terms]


def names_in(question: str) -> frozenset[str]:
    """The terms of the words that a question writes with a capital letter, but for its first."""
    written = words(question)[1:]
    return frozenset(stem(bare(word.lower().removesuffix("'s")), ENGLISH) for word in written if word[0].isupper())


def _near(term: str) -> dict[str, float]:
    pairs = (pair.split(":") for pair in _related().get(term, "").split())
    return {other: int(hundredths) / 100 for other, hundredths in pairs}


@cache
def _related() -> dict[str, str]:
    words: dict[str, str] = load("related")
    return words
