"""Stop words: by language, the words that say nothing about what a text is about.

Those of PostgreSQL (that is Snowball's), with greetings; of the other languages the commonest words. In scripts without
spaces they are characters and pairs of characters, as `terms` has them.
"""

from __future__ import annotations

from functools import cache

from .data import load


@cache
def stop_words(language: str | None) -> frozenset[str]:
    """The stop words of a language in lower case; none of one that is not known."""
    return _all().get(language or "", frozenset())


@cache
def _all() -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in load("stop_words").items()}
