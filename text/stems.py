"""The stem of a word: what its forms share, by the Snowball stemmer of its language."""

from __future__ import annotations

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
    return word if stemmer is None else str(stemmer.stemWord(word))


@cache
def _stemmer(name: str) -> Any:
    """The stemmer, or None where this version of Snowball has none of that name: the newer ones know more languages."""
    return snowballstemmer.stemmer(name) if name in snowballstemmer.algorithms() else None
