"""Requests, by the first or last words of a message: to be told something, or to do something; and what only tells."""

from __future__ import annotations

from functools import cache
from typing import Final

import regex

from .data import phrases
from .fold import fold

_FULL_STOPS: Final = (".", "。", "।", "．")
_CLOSERS: Final = " \t\n\"'”’»)）」』]"
_END: Final = "".join([_CLOSERS, "!！", *_FULL_STOPS])
_CHARACTERS: Final = 2000
"""Of a message that are read for what it gives to do."""


def requests(message: str) -> bool:
    """Whether a message begins or ends as a request does: "remind me of ...", "... 알려 주세요" (a blocking read)."""
    folded = fold(message).strip()
    return _first("first").match(folded) is not None or folded.rstrip(_END).endswith(phrases("requests", "last"))


def is_task(message: str) -> bool:
    """Whether a message gives the assistant something to do: "write a card for ...", "... 써 줘" (a blocking read)."""
    folded = fold(message[:_CHARACTERS]).strip()
    polite = _first("polite").match(folded)
    begins = _first("task").match(folded, polite.end() if polite else 0)
    return begins is not None or folded.rstrip(_END).endswith(phrases("requests", "task_last"))


def is_closed(message: str) -> bool:
    """Whether a message ends in a full stop, quotes and brackets behind it aside."""
    return message.rstrip(_CLOSERS).endswith(_FULL_STOPS)


@cache
def _first(group: str) -> regex.Pattern[str]:
    words = "|".join(map(regex.escape, phrases("requests", group)))
    return regex.compile(rf"[\s,،，]*(?:{words})(?![\p{{Latin}}\p{{Cyrillic}}\p{{Arabic}}])")
