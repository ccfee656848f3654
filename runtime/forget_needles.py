"""`Needles`: what is looked for when it is to be proven that something is gone: texts, telling words, ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

MOST: Final = 48
"""Texts that are looked for, at most: the longest, and ids among them."""

_IDS: Final = 16
_LONGEST: Final = 80
"""Characters of a text that are looked for: the beginning of a longer one."""

_TELLING: Final = re.compile(r"(?=[\w-]*\d)[\w-]{5,}")
"""A word with a digit: a code, a number, an address."""

_ID_CHARACTERS: Final = 8


class Needles(NamedTuple):
    """Attributes: `texts` that are looked for, and of how many they were chosen."""

    texts: tuple[str, ...]
    chosen_of: int


def needles_of(said: Iterable[str], quotes: Sequence[str], ids: Iterable[str]) -> Needles:
    """What tells of messages that they are still there.

    Args:
        said: what the user said in them.
        quotes: sentences of it that the user says nowhere else.
        ids: of the messages, and of summaries of them alone.
    """
    words = {word for text in said for word in _TELLING.findall(text)}
    texts = list(dict.fromkeys([*quotes, *sorted(words, key=len, reverse=True)]))
    telling = sorted(id_ for id_ in ids if len(id_) >= _ID_CHARACTERS)
    chosen = [*texts[: MOST - min(_IDS, len(telling))], *telling[:_IDS]]
    return Needles(tuple(text[:_LONGEST] for text in chosen), len(texts) + len(telling))
