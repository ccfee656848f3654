"""What goes into each part of the prompt: picked by rank or age within a number of tokens, the rest reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

from ..state.records import Memory
from ..state.turn_records import Section

T = TypeVar("T")

WORTH_A_CUT: Final = 48
"""Tokens of room below which nothing is cut to fit."""

NO_ROOM: Final = "did not fit the budget"
REPEATED: Final = "said the same as another part"
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

    def with_(self, other: Picked[T]) -> Picked[T]:
        """Both together, under the name of the first."""
        return Picked(
            self.name,
            [*self.items, *other.items],
            self.tokens + other.tokens,
            self.cut + other.cut,
            self.granted + other.tokens,
            self.left_out + other.left_out,
        )

    def section(self) -> Section:
        """The part as the report shows it."""
        return Section(
            name=self.name,
            tokens=self.tokens,
            items=len(self.items),
            dropped=self.left_out.total(),
            cut=self.cut,
            granted=self.granted,
            reasons=tuple(f"{count} {reason}" for reason, count in self.left_out.items()),
        )


class Entry(NamedTuple):
    """A text for the fence.

    Attributes:
        text: with its label.
        tokens: what it takes, with the line break behind it.
        shorten: the entry in fewer tokens; None where it cannot be had in so few.
        memory: the memory behind it, as the text shows it.
    """

    text: str
    tokens: int
    shorten: Callable[[int], Entry | None]
    memory: Memory | None = None


class RankedEntries(NamedTuple):
    """Entries in the order of their rank, and what was left out of them for which reason."""

    entries: Sequence[Entry]
    left_out: Counter[str]

    @property
    def tokens(self) -> int:
        """What all entries take."""
        return sum(entry.tokens for entry in self.entries)


def by_rank(name: str, found: RankedEntries, room: int) -> Picked[Entry]:
    """The entries in rank order that fit; the first that does not is cut to the room that is left, then it ends.

    A longer one is not passed over for a shorter of lower rank.
    """
    picked: Picked[Entry] = Picked(name, granted=max(0, room), left_out=found.left_out.copy())
    for entry in found.entries:
        left = room - picked.tokens
        shown = entry if entry.tokens <= left else entry.shorten(left) if left >= WORTH_A_CUT else None
        if shown is None or shown.tokens > left:
            break
        picked.items.append(shown)
        picked.tokens += shown.tokens
        if shown is not entry:
            picked.cut += 1
            break
    if missing := len(found.entries) - len(picked.items):
        picked.left_out[NO_ROOM] += missing
    return picked
