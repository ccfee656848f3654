"""Which web results a reply cites: the numbers under which they stood in its context."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ..state.search_records import SearchResult
from ..text.fold import fold
from ..text.sentences import CODE

_NUMBERS: Final = r"\^?\s*\d{1,3}(?:\s*(?:[,;、，]|[-–—~])\s*\^?\d{1,3})*"
_MARK: Final = re.compile(rf"\[({_NUMBERS})\]|【({_NUMBERS})(?:†[^】]*)?】")
_PART: Final = re.compile(r"(\d{1,3})(?:\s*[-–—~]\s*\^?(\d{1,3}))?")


def cited(reply: str, results: Sequence[SearchResult]) -> tuple[SearchResult, ...]:
    """The results that a reply cites, in the order in which it first does so, each once.

    A result is cited by its number, which counts from 1, in brackets ([1], [2][3], [1, 3], [2-4], 【1】), or by its
    address. Numbers in code and numbers that no result has are passed over.

    Args:
        reply: the model's text.
        results: as they were numbered in its context.
    """
    text = CODE.sub(" ", fold(reply))
    found = [(index, number) for index, number in _numbers(text) if 1 <= number <= len(results)]
    for number, result in enumerate(results, start=1):
        address = fold(result.url).rstrip("/")
        if address and (at := re.search(rf"{re.escape(address)}(?![\w/?#%-])/?", text)):
            found.append((at.start(), number))
    return tuple(results[number - 1] for number in dict.fromkeys(number for _, number in sorted(found)))


def _numbers(text: str) -> Iterator[tuple[int, int]]:
    """Each number in brackets with its place."""
    for mark in _MARK.finditer(text):
        inside = next(group for group in mark.groups() if group)
        for part in _PART.finditer(inside):
            first, last = int(part[1]), int(part[2] or part[1])
            for number in range(first, last + 1):
                yield mark.start() + part.start(), number
