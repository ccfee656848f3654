"""Particles: what Korean and Japanese glue to the words of a question, and what says nothing of what it is about.

Both are searched by pairs of characters. Of a question only those count that are of its words: an index may hold all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import regex

from .data import load
from .stop_words import stop_words
from .words import pairs

_HANGUL: Final = regex.compile(r"\p{Hangul}")
_HIRAGANA: Final = regex.compile(r"\p{Hiragana}")
_KATAKANA: Final = regex.compile(r"[\p{Katakana}\u30fc]")
_SPEAKERS: Final = frozenset("私僕俺彼何誰")
"""Pronouns and question words that are written with one character of Han."""

_NEVER_ENDINGS: Final = frozenset("はをのへもにで")
"""Particles with which no ending of a verb or adjective begins."""


def telling_pairs(run: str) -> list[str]:
    """The pairs of characters of a part of a question in one of these scripts (`words.runs`) that tell what it asks.

    In Chinese, and in scripts of South East Asia, these are all.
    """
    if _HANGUL.match(run):
        return _korean(run)
    return list(_japanese(run)) if _HIRAGANA.search(run) else pairs(run)


def _korean(word: str) -> list[str]:
    """Those of a word without its particle; none of a pronoun or question word."""
    bare = [word, *(word[: -len(end)] for end in _endings() if word.endswith(end))]
    if any(not stem or stem in stop_words("ko") for stem in bare):
        return []
    return pairs(next((stem for stem in bare[1:] if len(stem) > 1), word))


def _japanese(run: str) -> Iterator[str]:
    """Those that are neither grammar nor of two words: hiragana before another script is the end of a word."""
    for at, pair in enumerate(pairs(run)):
        first, *second = (_HIRAGANA.match(char) is not None for char in pair)
        before = run[at - 1] if at else ""
        if not any(second):
            is_grammar = first
        elif first:
            is_grammar = pair in _grammar() or (before != "" and not _HIRAGANA.match(before))
        else:
            follows_noun = before != "" and not _HIRAGANA.match(before) and pair[1] in _NEVER_ENDINGS
            is_grammar = pair[0] in _SPEAKERS or _KATAKANA.match(pair[0]) is not None or follows_noun
        if not is_grammar:
            yield pair


@cache
def _endings() -> tuple[str, ...]:
    """The particles of Korean, the longest first."""
    return tuple(sorted(load("particles")["ko"].split(), key=len, reverse=True))


@cache
def _grammar() -> frozenset[str]:
    """The pairs in particles, auxiliary verbs, pronouns and question words of Japanese."""
    return frozenset(pair for word in load("particles")["ja"].split() for pair in pairs(word))
