r"""The words of a text, in any script.

`\w` and `\b` of `re` do not find words everywhere: combining marks are no `\w` there, so "क" would match inside "का".
And scripts without spaces between words (Thai, Lao, Burmese, Khmer, kana, Han) have no boundaries at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import regex

from .scripts import PAIRED, SPACELESS

_LETTER: Final = r"[\p{L}\p{M}\p{N}]"
"""A letter, a mark on one, or a digit."""

WORD: Final = regex.compile(rf"{_LETTER}++(?:['’]{_LETTER}++)*+")
"""A word or number, an apostrophe inside of it kept; of a script without spaces, all up to the next mark or space."""

QUESTION_MARKS: Final = "?？؟"

_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*")
"""The same where nothing else can stand: four times as fast."""

_SPACED: Final = rf"(?:(?![{SPACELESS}])[\w\p{{M}}])"
_SINGLE: Final = regex.compile(rf"[{SPACELESS}]|{_SPACED}+")
_PIECE: Final = regex.compile(
    rf"[{SPACELESS}]|\p{{Nd}}+(?:[.,:]\p{{Nd}}+)+{_SPACED}*|{_SPACED}+(?:'{_SPACED}+)*|\n|[^\s\w]"
)
_ASCII_PIECE: Final = re.compile(r"\d+(?:[.,:]\d+)+\w*|\w+(?:'\w+)*|\n|[^\s\w]", re.ASCII)
_PAIRED: Final = regex.compile(rf"[{PAIRED}]+")
_CLOSERS: Final = "\"'”’»)）」』] \t\n"


def words(text: str) -> list[str]:
    """The words of a text as they are written, in their order, each as often as it stands there."""
    return (_ASCII_WORD if text.isascii() else WORD).findall(text)


def single_words(text: str) -> list[str]:
    """The same, but of a script without spaces each letter is a word, and an apostrophe ends one."""
    return _SINGLE.findall(text)


def pieces(text: str) -> list[str]:
    """Words, whole numbers ("3.14", "12:30"), punctuation marks and line breaks; letters without spaces one by one."""
    return (_ASCII_PIECE if text.isascii() else _PIECE).findall(text)


def is_word(piece: str) -> bool:
    """Whether one of these pieces is a word or number, and no mark."""
    return piece[0].isalnum() or len(piece) > 1


def runs(word: str) -> Iterator[tuple[int, str, bool]]:
    """The parts of a word that are in scripts without spaces, or in Korean, and those that are not.

    Yields where each begins, the part, and whether it is such a run: one to be compared by pairs of characters.
    """
    at = 0
    for run in _PAIRED.finditer(word):
        if run.start() > at:
            yield at, word[at : run.start()], False
        yield run.start(), run.group(), True
        at = run.end()
    if at < len(word):
        yield at, word[at:], False


def pairs(run: str) -> list[str]:
    """The pairs of characters of such a run, overlapping; of a single character, this."""
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def is_question(sentence: str) -> bool:
    """Whether a text ends in a question mark, quotes and brackets behind it aside."""
    return sentence.rstrip(_CLOSERS).endswith(tuple(QUESTION_MARKS))
