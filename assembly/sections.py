"""What goes into each part of the prompt: picked by rank or age within a number of tokens, the rest told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from ..models.counting import TokenCounter
from ..state.turn_records import Section

T = TypeVar("T")

WORTH_A_CUT: Final = 48
"""Tokens of room below which nothing is cut to fit."""

NO_ROOM: Final = "did not fit the budget"
REPEATED: Final = "said the same as another part"
IN_CHAIN: Final = "stand in the conversation already"
TOO_MANY: Final = "were more than the setting allows"
BLANK: Final = "held nothing"


@dataclass
class Picked(Generic[T]):
    """What a part holds, and why the rest is not in it."""

    name: str
    items: list[T] = field(default_factory=list)
    tokens: int = 0
    cut: int = 0
    granted: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def section(self) -> Section:
        """The part as the report tells it."""
        return Section(
            name=self.name,
            tokens=self.tokens,
            items=len(self.items),
            dropped=self.left_out.total(),
            cut=self.cut,
            granted=self.granted,
            reasons=tuple(f"{count} {reason}" for reason, count in self.left_out.items()),
        )


@dataclass(frozen=True)
class Entry:
    """A text for the fence. `shorten` gives it in fewer tokens."""

    text: str
    tokens: int
    shorten: Callable[[int], str]


def by_rank(name: str, entries: Sequence[Entry], room: int, counter: TokenCounter) -> Picked[str]:
    """The entries in rank order that fit; the first that does not is cut to the room that is left, then it ends.

    A longer one is not passed over for a shorter of lower rank.
    """
    picked: Picked[str] = Picked(name, granted=max(0, room))
    left = room
    for entry in entries:
        if entry.tokens <= left:
            picked.items.append(entry.text)
            left -= entry.tokens
            continue
        if left >= WORTH_A_CUT and (text := entry.shorten(left)) and (cost := counter.text(text) + 1) <= left:
            picked.items.append(text)
            picked.cut += 1
            left -= cost
        break
    picked.tokens = max(0, room - left)
    if missing := len(entries) - len(picked.items):
        picked.left_out[NO_ROOM] += missing
    return picked
