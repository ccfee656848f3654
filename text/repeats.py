"""Nothing twice: what the prompt already says is not said again.

Two texts say the same when nearly all runs of three words of one stand in the other, and all of its numbers do: a text
that differs in a number may be a correction.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from .fold import fold
from .words import single_words

_CONTAINED: Final = 0.95
_RUN: Final = 3
_COMPARED: Final = 6000
"""Characters of a text that are compared."""

_SHORTEST: Final = 4
"""Words of a text below which only the very same text is a repeat."""


class _Shape(NamedTuple):
    """What is compared of a text: its words as one string, its runs of words, its numbers."""

    plain: str
    runs: frozenset[int]
    numbers: frozenset[str]
    words: int


@lru_cache(maxsize=1024)
def _shape(text: str) -> _Shape:
    """The shape of a text; case, punctuation and width of characters do not count."""
    words = single_words(fold(text[:_COMPARED]))
    runs = frozenset(hash(tuple(words[at : at + _RUN])) for at in range(max(1, len(words) - _RUN + 1)))
    return _Shape(" ".join(words), runs, frozenset(word for word in words if word[0].isdigit()), len(words))


class ShownTexts:
    """What the prompt already says."""

    def __init__(self) -> None:
        self._plain: set[str] = set()
        self._shapes: list[_Shape] = []

    def add(self, text: str) -> None:
        """Take note of a text that is in the prompt."""
        made = _shape(text)
        self._plain.add(made.plain)
        self._shapes.append(made)

    def has(self, text: str) -> bool:
        """Whether a text, or nearly the same, is in the prompt. A text longer than what is compared is never."""
        made = _shape(text)
        if not made.plain or len(text) > _COMPARED:
            return False
        if made.plain in self._plain:
            return True
        if made.words < _SHORTEST:
            return False
        wanted = _CONTAINED * len(made.runs)
        return any(made.numbers <= other.numbers and len(made.runs & other.runs) >= wanted for other in self._shapes)
