"""The stem of a word: what its forms share, by the Snowball stemmer of its language."""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from typing import Any, Final

import snowballstemmer

_STEMMERS: Final = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian",
    "lt": "lithuanian", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip

_LONGEST: Final = 64
"""Characters of a word from which it is none, and stays as it is."""


_ONE_WORD: Final = threading.Lock()
"""A stemmer written in Python holds the word that it is at: two threads would mix theirs."""


@lru_cache(200_000)
def stem(word: str, language: str | None) -> str:
    """The stem of a word; the word itself in a language without a stemmer.

    Args:
        word: in lower case (`fold.lower`).
        language: its code, or None for a language that is not known.
    """
    name = _STEMMERS.get(language or "")
    if name is None or len(word) >= _LONGEST:
        return word
    stemmer = _stemmer(name)
    if stemmer is None:
        return word
    with _ONE_WORD:
        return str(stemmer.stemWord(word))


@cache
def _stemmer(name: str) -> Any:
    """The stemmer, or None where this version of Snowball has none of that name: the newer ones know more languages."""
    return snowballstemmer.stemmer(name) if name in snowballstemmer.algorithms() else None
