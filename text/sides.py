"""The sides of a question that asks which of several things came first: each is to be found by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

import regex

from .data import load, phrases
from .fold import fold
from .language import language_of
from .scripts import SPACELESS
from .shorten import middle_out
from .terms import MAX_CHARACTERS, search_terms

_CHARACTERS: Final = 500
"""Characters of a sentence up to which it is read so."""

_MOST: Final = 4
"""Sides of a question, at most."""

_END: Final = regex.compile(r"(?<=[?!.。？！؟])\s*")
_MARKS: Final = regex.compile(r"[,:;?!.，、：；？！。؟،]+")
_LETTER: Final = rf"(?![{SPACELESS}\p{{Hangul}}])[\p{{L}}\p{{M}}]"


def sides_of(question: str) -> tuple[str, ...]:
    """What a question asks the order of: "Did I move before or after the wedding?" of "did i move" and "the wedding".

    None where it asks for something else; the lists of all languages are in `data/sides.json`.
    """
    for sentence in _END.split(fold(middle_out(question, MAX_CHARACTERS))):
        if _words(sentence) and len(sentence) <= _CHARACTERS and (found := _between(sentence) or _listed(sentence)):
            return found
    return ()


def _between(text: str) -> tuple[str, ...]:
    """Those on both sides of "before or after", which stands behind both in some languages; or is torn apart."""
    if (at := _first(text, phrases("sides", "between"))) is not None:
        left, right = text[: at[0]], text[at[1] :]
        if _words(right):
            return _told([left, right])
        topic = _first(left, phrases("sides", "topic"))
        return _told([left[: topic[0]], left[topic[1] :]]) if topic else ()
    end = _first(text, phrases("sides", "ends"))
    if end is None or _words(text[end[1] :]):
        return ()
    at = _first(text[: end[0]], phrases("sides", "opens"))
    return _told([text[: at[0]], text[at[1] : end[0]]]) if at else ()


def _listed(text: str) -> tuple[str, ...]:
    """What is named beside "first", with "or" between; what a comma or colon divides from it leads to it."""
    bare = text
    for phrase in phrases("sides", "no_order"):
        bare = _whole(phrase).sub(" ", bare)
    marks = {code: first for code, first in _lists("first").items() if _first(bare, first) is not None}
    likely = sorted(marks, key=lambda code: code != language_of(text)) if marks else []
    for code in likely:
        parts = [part for part in _MARKS.split(bare) if _words(part)]
        lead = _halves(parts[0], _lists("or")[code])
        divided = [half for part in parts for half in _halves(part, _lists("or")[code])]
        if len(divided) == len(parts):
            continue
        if len(divided) > 2 and len(lead) == 1 and _first(lead[0], marks[code]) is not None:
            divided = divided[1:]
        sides = [_without(part, marks[code]) for part in divided]
        if found := _told([side for side in sides if search_terms(side)]):
            return found
    return ()


def _halves(part: str, words: Sequence[str]) -> list[str]:
    at = _first(part, words)
    if at is None or not (_words(part[: at[0]]) and _words(part[at[1] :])):
        return [part]
    return [part[: at[0]], *_halves(part[at[1] :], words)]


def _without(part: str, marks: Sequence[str]) -> str:
    for phrase in marks:
        part = _whole(phrase).sub(" ", part)
    return part


def _told(sides: Sequence[str]) -> tuple[str, ...]:
    """The sides, if each has something to be found by."""
    told = tuple(" ".join(_MARKS.sub(" ", side).split()) for side in sides)
    return told if 2 <= len(told) <= _MOST and all(map(search_terms, told)) else ()


def _words(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def _first(text: str, listed: Sequence[str]) -> tuple[int, int] | None:
    """Where the longest of these phrases stands that is there, the first time."""
    for phrase in listed:
        if phrase in text and (found := _whole(phrase).search(text)):
            return found.span()
    return None


@cache
def _lists(group: str) -> Mapping[str, Sequence[str]]:
    """The phrases of a group by language, folded, the longest first."""
    return {code: sorted(map(fold, listed), key=len, reverse=True) for code, listed in load("sides")[group].items()}


@lru_cache(1_024)
def _whole(phrase: str) -> regex.Pattern[str]:
    """The phrase, not inside of a word where words have spaces between them."""
    return regex.compile(rf"(?<!{_LETTER}){regex.escape(phrase)}(?!{_LETTER})")
