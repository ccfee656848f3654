"""Terms: what a text is compared and found by.

Stems of its words without stop words; in scripts without spaces, and in Korean, pairs of characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from .fold import bare, fold, lower
from .language import OF_SCRIPT, language_of, likelihoods
from .particles import telling_pairs
from .scripts import script_of
from .shorten import middle_out
from .stems import stem
from .stop_words import stop_words
from .words import pairs, runs, words

ENGLISH: Final = "en"
"""The language of a text that does not tell its own."""

MAX_CHARACTERS: Final = 80_000
"""Characters of one message that are counted or embedded; of a longer one, half as many from its start and its end."""

_CACHED: Final = 40
"""Characters of a word up to which its terms are kept: longer ones do not come again."""

_LIKELY: Final = 3
"""Languages that are tried for a text that may be in any of them."""

_OF_SCRIPT: Final = {
    "cyrillic": "ru", "arabic": "ar", "devanagari": "hi", "greek": "el", "armenian": "hy", "tamil": "ta",
}  # fmt: skip
"""Whose stems and stop words the words of a script have: one language, so that a short question meets a long text."""


def terms(
    text: str, language: str | None = None, *, keep_stop_words: bool = False, stop: frozenset[str] = frozenset()
) -> list[str]:
    """The terms of a text, in their order, each as often as it stands there: one a word.

    Args:
        text: any text.
        language: its code; that of the text itself by default, or else English.
        keep_stop_words: whether all words count.
        stop: further words that do not count, folded.
    """
    text = middle_out(text, MAX_CHARACTERS)
    language = language or language_of(text)
    languages = (language,) if language in OF_SCRIPT["latin"] else (ENGLISH,)
    return [term for word in words(text) for term in _of(word, languages, keep_stop_words, stop)]


def search_terms(text: str, *, keep_stop_words: bool = False, stop: frozenset[str] = frozenset()) -> list[str]:
    """The same, with the stems of a word in other languages where these differ: in English, and in those it may be in.

    What is searched for and what is found may be too short to tell their language: so they meet all the same.
    """
    text = middle_out(text, MAX_CHARACTERS)
    languages = _languages(text)
    return [term for word in words(text) for term in _of(word, languages, keep_stop_words, stop)]


def search_words(text: str) -> list[tuple[str, ...]]:
    """The same of a question, the stems of one word together: where it has several, they stand for one thing.

    Of pairs of characters those that are grammar do not count, unless it has nothing else.
    """
    text = middle_out(text, MAX_CHARACTERS)
    languages = _languages(text)
    said = words(text)
    telling = [found for word in said for found in _words_of(word, languages, telling=True)]
    return telling or [found for word in said for found in _words_of(word, languages)]


def _languages(text: str) -> tuple[str, ...]:
    """The languages whose stems words in Latin letters have; the first one's stop words are left out."""
    found = likelihoods(text)
    if (language := language_of(text)) is None:
        likely = [ENGLISH, *sorted(found, key=found.__getitem__, reverse=True)[:_LIKELY]]
    else:
        likely = [language, ENGLISH]
    return tuple(dict.fromkeys(code for code in likely if code in OF_SCRIPT["latin"])) or (ENGLISH,)


def _of(
    word: str, languages: tuple[str, ...], keep_stop_words: bool = False, stop: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    find = _terms_of if len(word) <= _CACHED else _terms_of.__wrapped__
    return find(word, languages, keep_stop_words, stop)


@lru_cache(50_000)
def _terms_of(word: str, languages: tuple[str, ...], keep_stop_words: bool, stop: frozenset[str]) -> tuple[str, ...]:
    return tuple(term for found in _words_of(word, languages, keep_stop_words, stop) for term in found)


def _words_of(
    word: str,
    languages: tuple[str, ...],
    keep_stop_words: bool = False,
    stop: frozenset[str] = frozenset(),
    *,
    telling: bool = False,
) -> Iterator[tuple[str, ...]]:
    """The stems of each part of a word; a pair of characters is one of its own, and may have to tell something."""
    for _, part, is_run in runs(lower(word)):
        if is_run:
            of_part = telling_pairs(part) if telling else pairs(part)
            yield from ((bare(pair),) for pair in of_part if pair not in stop and bare(pair))
        else:
            yield from _stems(part, languages, keep_stop_words, stop)


def _stems(
    word: str, languages: tuple[str, ...], keep_stop_words: bool, stop: frozenset[str]
) -> Iterator[tuple[str, ...]]:
    if word.isascii() and word.isdigit():
        yield (word,)
        return
    of_script = _OF_SCRIPT.get(script_of(word))
    languages = (of_script,) if of_script else languages
    left_out = frozenset() if keep_stop_words else stop_words(languages[0]) | stop
    for part in word.removesuffix("'s").split("'"):
        if part and not left_out & {part, fold(part)}:
            stems = dict.fromkeys(stem for language in languages if (stem := _stem(part, language)))
            if stems:
                yield tuple(stems)


def _stem(word: str, language: str) -> str:
    """The stem without accents: English has none, so that its stemmer must not see them, and others need them."""
    return stem(bare(word), language) if language == ENGLISH else bare(stem(word, language))
