"""Which language a text is in, as far as stop words and stems need it. No model: script and stop words decide."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

import regex
import snowballstemmer

ENGLISH: Final = "english"

_BY_SCRIPT: Final = (
    ("russian", regex.compile(r"\p{Cyrillic}")),
    ("arabic", regex.compile(r"\p{Arabic}")),
    ("hindi", regex.compile(r"\p{Devanagari}")),
    ("greek", regex.compile(r"\p{Greek}")),
    ("armenian", regex.compile(r"\p{Armenian}")),
    ("tamil", regex.compile(r"\p{Tamil}")),
)
"""Scripts that tell the language well enough: a stemmer changes nothing in the words of another script."""

_EVIDENCE: Final = 2
"""Stop words of a language, more than there are English ones, before its own stems and stop words are used."""

SAMPLE: Final = 200
"""Words that are looked at."""


def language_of(words: Sequence[str]) -> str:
    """The language of a text in Latin script, by its stop words; English where nothing says otherwise.

    Args:
        words: the words of the text in lower case.
    """
    sample = set(words[:SAMPLE])
    counts = {language: len(sample & stop) for language, stop in stop_words().items()}
    best = max(counts, key=lambda language: (counts[language], language == ENGLISH))
    return best if counts[best] >= counts[ENGLISH] + _EVIDENCE else ENGLISH


def stems(word: str, language: str) -> Iterable[str]:
    """The stems under which a word is kept.

    One in English, or by the script; else two, the language's own and the English one, so that a question whose
    language was not recognized still meets it.
    """
    for of_script, script in _BY_SCRIPT:
        if script.match(word):
            return (stem(word, of_script),)
    return dict.fromkeys((stem(word, language), stem(word, ENGLISH)))


@lru_cache(200_000)
def stem(word: str, language: str) -> str:
    """The stem of a word; a word of 64 characters or more is none and stays as it is."""
    return str(_stemmer(language).stemWord(word)) if len(word) < 64 else word


@cache
def stop_words() -> dict[str, frozenset[str]]:
    """By language, the words that say nothing about what a text is about (those of PostgreSQL, and greetings)."""
    data: dict[str, str] = json.loads(files(__package__).joinpath("stop_words.json").read_text(encoding="utf-8"))
    return {language: frozenset(words.split()) for language, words in data.items()}


@cache
def _stemmer(language: str) -> Any:
    return snowballstemmer.stemmer(language)
