"""Terms: what the keyword arm counts. Stemmed words; pairs of characters where a script is written without spaces.

A message also has the day on which it was said among its terms, so that a question that names a date finds it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import regex

from .languages import ENGLISH, language_of, stem, stems, stop_words

MAX_CHARACTERS: Final = 80_000
"""Characters of one message that are counted or embedded; of a longer one, half as many from its start and its end."""

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
    stop = frozenset() if keep_stop_words else stop_words()[language] | stop_words()["russian"]
    return [term for word in words for term in _terms_of(word, language, stop)]


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


def _terms_of(word: str, language: str, stop: frozenset[str]) -> Iterator[str]:
    at = 0
    for run in _UNSPACED.finditer(word):
        yield from _spaced(word[at : run.start()], language, stop)
        characters = run.group()
        yield from (characters[n : n + 2] for n in range(max(1, len(characters) - 1)))
        at = run.end()
    yield from _spaced(word[at:], language, stop)


def _spaced(word: str, language: str, stop: frozenset[str]) -> Iterator[str]:
    for part in word.removesuffix("'s").split("'"):
        if part and part not in stop:
            yield from stems(part, language)
