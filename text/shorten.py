"""Shortening: one way each to cut a text to tokens or to characters, and to share a budget among several."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final, Literal

from .tokens import Count, estimate_tokens

ELLIPSIS: Final = "…"
"""Stands where something was cut."""

Kept = Literal["start", "end", "both"]
"""Which part of a text stays: its start, its end, or both without the middle."""

_JOINERS: Final = "\u200d\ufe0e\ufe0f"


def beginning(text: str, limit: int) -> str:
    """The text, or its first words within `limit` characters, an ellipsis included; a long word is cut."""
    return text if len(text) <= limit else f"{_first_words(text, limit - 1)}{ELLIPSIS}"


def one_line(text: str, limit: int) -> str:
    """The beginning of a text on one line, in at most `limit` characters; of a long text the rest is not looked at."""
    line = " ".join(text[: 4 * limit].split())
    return beginning(line, limit) if len(text) <= 4 * limit else f"{_first_words(line, limit - 1)}{ELLIPSIS}"


def _first_words(text: str, limit: int) -> str:
    head = text[:limit]
    at_word, _, rest = head.rpartition(" ")
    return (at_word if at_word and len(rest) < limit // 4 else head).rstrip()


def middle_out(text: str, limit: int, gap: str = "\n") -> str:
    """The text; of one of more than `limit` characters the first and the last half of so many, `gap` between them."""
    return text if len(text) <= limit else f"{text[: limit // 2]}{gap}{text[len(text) - limit // 2 :]}"


def share_out(sizes: Sequence[int], budget: int) -> list[int]:
    """How much each of several gets of a budget: even parts, and what one does not need goes to the others.

    Args:
        sizes: what each could use, in any unit.
        budget: for all together; below 0 counts as 0.
    """
    given = [0] * len(sizes)
    left = max(0, budget)
    for done, at in enumerate(sorted(range(len(sizes)), key=lambda at: sizes[at])):
        given[at] = min(sizes[at], left // (len(sizes) - done))
        left -= given[at]
    return given


def truncate_to_tokens(
    text: str,
    max_tokens: int,
    keep: Kept = "start",
    *,
    mark: str = ELLIPSIS,
    count: Count = estimate_tokens,
) -> str:
    """The text cut to at most `max_tokens`, at word boundaries where one is near.

    Args:
        text: any text.
        max_tokens: the limit, the mark included; 0 or less gives an empty text.
        keep: which part stays: the start, the end, or both with the middle cut out.
        mark: what stands where something was cut.
        count: what counts the tokens.
    """
    if max_tokens <= 0 or not text:
        return ""
    size = min(len(text), 16 * max_tokens)
    if size == len(text) and count(text) <= max_tokens:
        return text
    best, low, high, halve = 0, 0, size + 1, False
    while high - low > 1:
        cost = count(_kept(text, size, keep, mark))
        if cost <= max_tokens:
            best = low = size
            if cost >= max_tokens * 0.97 or size == len(text):
                break
        else:
            high = size
        # In turn by proportion, which is near after a try or two, and by halves, which cannot stall.
        halve = not halve
        size = (low + high) // 2 if not halve else size * max_tokens // max(cost, 1)
        size = min(max(size, low + 1), high - 1)
    if best:
        return _kept(text, best, keep, mark)
    return truncate_to_tokens(mark, max_tokens, mark="", count=count) if mark else ""


def _kept(text: str, size: int, keep: Kept, mark: str) -> str:
    if keep == "start":
        return _head(text, size) + mark
    if keep == "end":
        return mark + _tail(text, size)
    tail = size // 2
    return f"{_head(text, size - tail)}{mark}{_tail(text, tail)}"


def _head(text: str, size: int) -> str:
    while 0 < size < len(text) and _is_joined(text[size - 1], text[size]):
        size -= 1
    if 0 < size < len(text) and not text[size].isspace():
        reach = max(size * 3 // 4, size - 40)
        size = max((at for at in range(size, reach, -1) if text[at - 1].isspace()), default=size)
    return text[:size].rstrip()


def _tail(text: str, size: int) -> str:
    start = len(text) - size
    while 0 < start < len(text) and _is_joined(text[start - 1], text[start]):
        start += 1
    if 0 < start < len(text) and not text[start - 1].isspace():
        reach = min(start + size // 4, start + 40, len(text))
        start = next((at + 1 for at in range(start, reach) if text[at].isspace()), start)
    return text[start:].lstrip()


def _is_joined(left: str, right: str) -> bool:
    """Whether two characters are seen as one: a combining mark, a joined emoji."""
    return left == "\u200d" or right in _JOINERS or bool(unicodedata.combining(right))
