"""Requests: whether a message asks to be told something, by its first or last words; and whether it can only tell."""

from __future__ import annotations

from functools import cache
from typing import Final

import regex

from .data import phrases
from .fold import fold

_END: Final = " \t\n\"'”’»)）」』]!！.。।．"
_FULL_STOPS: Final = (".", "。", "।", "．")
_CLOSERS: Final = " \t\n\"'”’»)）」』]"


def requests(message: str) -> bool:
    """Whether a message begins or ends as a request does: "remind me of ...", "... 알려 주세요" (a blocking read)."""
    folded = fold(message).strip()
    return _first().match(folded) is not None or folded.rstrip(_END).endswith(phrases("requests", "last"))


def is_closed(message: str) -> bool:
    """Whether a message ends in a full stop, quotes and brackets behind it aside."""
    return message.rstrip(_CLOSERS).endswith(_FULL_STOPS)


@cache
def _first() -> regex.Pattern[str]:
    words = "|".join(map(regex.escape, phrases("requests", "first")))
    return regex.compile(rf"(?:{words})(?![\p{{Latin}}\p{{Cyrillic}}\p{{Arabic}}])")
