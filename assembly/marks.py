"""`Marks`: between which sizes the conversation as said grows in a prompt, and what may stand beside it."""

from __future__ import annotations

import sys
from typing import NamedTuple

from .layout import RESERVED_SHARE, Layout

_LOW = 0.09
"""The low mark, as a share of what recent messages may take; by trial on LoCoMo, as `Layout.high`."""

EXCHANGE, NEWEST = 2, 4
"""Messages of one; and those that stay where two fit."""

_GROWN = 12
"""Messages by which the conversation grows above the least, however large they are, where there is room.

A cut writes two or three exchanges anew, and each that stands costs a tenth of itself a turn: about seven are cheapest.
"""

_MORE = 1.5
"""How far above its high mark the conversation is looked at, where it can be cut nowhere within its marks."""


class Marks(NamedTuple):
    """Between which sizes the conversation as said grows.

    Attributes:
        high: tokens, at most.
        low: tokens that stay when it is cut, at least.
        messages: messages that stay, at least, beside calls of tools and their results.
        room: tokens that all may take together, with the question: of longer messages fewer stay.
        free: what of the room is left beside what was found for the question.
        waiting: tokens of older messages that are in no summary; of more, the longest are cut to head and end.
    """

    high: int
    low: int
    messages: int = NEWEST
    room: int = sys.maxsize
    free: int = sys.maxsize
    waiting: int = sys.maxsize

    def is_enough(self, tokens: int, messages: int) -> bool:
        """Whether so much of the conversation is as much as is looked at to cut it."""
        more = 0 if tokens > self.room else _GROWN
        return tokens > _MORE * self.high and messages > self.messages + more

    def limit(self, tokens: int, messages: int) -> int:
        """Tokens that so much of it may take with what stands before it, while it is not cut; none where it is."""
        return self.free if tokens <= self.high or messages <= self.messages + _GROWN else -1

    @classmethod
    def of(cls, layout: Layout, budget: int, beside: int = 0, found: int = 0) -> Marks:
        """Those of a layout, for a prompt of so many tokens, less those of instructions, tools, and what was found."""
        room = min(layout.limit("recent", budget), budget // 2)
        most = int((1 - RESERVED_SHARE) * budget) - beside
        high = int(room * layout.high)
        return cls(high, int(room * _LOW), max(layout.kept, NEWEST), most, most - found, high // 2)
