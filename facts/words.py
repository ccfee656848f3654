"""Words as they are compared: without case, width and the dots of the Turkish i."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from ..models.extractive import words

_EDGES: Final = re.compile(r"^[\W_]+|[\W_]+$")
_SPACE: Final = re.compile(r"\s+")
_TURKISH_I: Final = str.maketrans({"ı": "i", "\u0307": None})
_STEM: Final = 6


def fold(text: str) -> str:
    """The text in one case and width. The four letters i of Turkish (I, ı, İ, i) become one."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_TURKISH_I)
    return unicodedata.normalize("NFC", folded).replace("’", "'")


def key(text: str) -> str:
    """What makes two texts the same (seed `004`: case-insensitive): folded, single spaces, no punctuation around."""
    return _EDGES.sub("", _SPACE.sub(" ", fold(text)))


def stem(word: str) -> str:
    """A word cut to what its forms share, for any language with an alphabet."""
    if word.isascii() and word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        word = word[:-1]
    return word[:_STEM]


def content_terms(text: str, stop: Iterable[str] = ()) -> tuple[str, ...]:
    """The distinct stemmed words of a text that are not stop words, in alphabetical order.

    A script without spaces gives pairs of characters.
    """
    ignored = frozenset(stop)
    found = {part for word in words(fold(text)) for part in word.split("'") if part}
    return tuple(
        sorted({stem(word) for word in found - ignored if len(word) > 1 or word.isdigit() or ord(word) > 0x2E80})
    )
