"""Terms: what the keyword arm counts. Stemmed words; pairs of characters where a script is written without spaces.

A message also has the day on which it was said among its terms, so that a question that names a date finds it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Final

import regex

from .languages import ENGLISH, SAMPLE, language_of, stem, stems, stop_words

MAX_CHARACTERS: Final = 80_000
"""Characters of one message that are counted or embedded; of a longer one, half as many from its start and its end."""

_KEPT: Final = 40
"""Characters of a word up to which its terms are kept: longer ones do not come again."""

_UNSPACED: Final = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+"
)
_WORD: Final = regex.compile(r"[\p{L}\p{N}\p{M}]+(?:'[\p{L}\p{N}\p{M}]+)?")
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip


def terms(text: str, *, keep_stop_words: bool = False) -> list[str]:
    """The terms of a text, in their order, each as often as it stands there."""
    words = _WORD.findall(_plain(middle_out(text)))
    language = language_of(words)
    return [term for word in words for term in _terms_of(word, language, keep_stop_words)]


def term_places(text: str, wanted: frozenset[str]) -> list[tuple[int, str]]:
    """Where a text says one of these terms, in order: where its word or pair of characters begins, and the term."""
    words = [(match.start(), match.group()) for match in _WORD.finditer(text)]
    language = language_of([word.lower() for _, word in words[:SAMPLE]])
    places: list[tuple[int, str]] = []
    for start, word in words:
        find = _terms_in if len(word) <= _KEPT else _terms_in.__wrapped__
        if said := wanted.intersection(find(word, language)):
            places += [(start + at, term) for at, term in _placed(word, said)]
    return places


@lru_cache(50_000)
def _terms_in(word: str, language: str) -> tuple[str, ...]:
    return tuple(_terms_of(_plain(word), language))


def _placed(word: str, said: frozenset[str]) -> list[tuple[int, str]]:
    """Where in a word its terms stand: pairs of characters, each time; what is the stem of the word, at its start."""
    pairs = [(at, word[at : at + 2]) for at in range(len(word) - 1)] if _UNSPACED.search(word) else []
    found = [(at, pair) for at, pair in pairs if pair in said]
    return sorted([*found, *((0, term) for term in said.difference(pair for _, pair in found))])


def middle_out(text: str) -> str:
    """The text without its middle, where it is longer than `MAX_CHARACTERS`."""
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else f"{text[:half]}\n{text[-half:]}"


def date_terms(moment: datetime) -> list[str]:
    """The day as the words of a text would name it: day, month, year."""
    return [str(moment.day), stem(_MONTHS[moment.month - 1], ENGLISH), str(moment.year)]


def question_terms(question: str) -> list[str]:
    """The distinct terms of a question."""
    return list(dict.fromkeys(terms(question)))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'").replace("i\u0307", "i")


def _terms_of(word: str, language: str, keep_stop_words: bool = False) -> Iterator[str]:
    at = 0
    for run in _UNSPACED.finditer(word):
        yield from _spaced(word[at : run.start()], language, keep_stop_words)
        characters = run.group()
        yield from (characters[n : n + 2] for n in range(max(1, len(characters) - 1)))
        at = run.end()
    yield from _spaced(word[at:], language, keep_stop_words)


@lru_cache(50_000)
def _spaced(word: str, language: str, keep_stop_words: bool) -> tuple[str, ...]:
    stop = [] if keep_stop_words else [stop_words()[language], stop_words()["russian"]]
    parts = [part for part in word.removesuffix("'s").split("'") if part and not any(part in of for of in stop)]
    return tuple(term for part in parts for term in stems(part, language))
