"""`History`: the recent messages of the chain, the newest of which stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from langchain_core.messages import AnyMessage

from ..models.counting import TokenCounter
from ..state.chain import is_summary
from ..state.turn_records import Section
from ..text.shorten import share_out
from .fit import bounded_message, fit_unit, is_cut
from .layout import Layout
from .sections import NO_ROOM, Picked
from .unfold import is_of_tools

Unit = list[AnyMessage]

_Measured = tuple[int, Unit, int]
"""A unit, behind where it stands and before the tokens that it takes."""

_UNIT_SHARE: Final = 0.5
"""The share of the budget of recent messages that one of them may take while other parts need the rest."""

_SMALLEST_UNIT: Final = 12
"""Tokens for each message below which it is left out rather than cut."""


class History:
    """The units of recent messages: the newest, which stay whole, those that always stay (`least`), and the older ones.

    Args:
        earlier: units and summaries before the question.
        layout: how many stay at least, and at most.
        budget: tokens of the prompt.
        counter: what counts.
        room: what of the budget the question and what always goes with it leave.
        importance: of messages, by their ids: where it is given, what is most important stays, else what is newest.

    Attributes:
        next_cost: tokens of those of the older ones that stand before anything that was found.
    """

    def __init__(
        self,
        earlier: Sequence[Unit],
        layout: Layout,
        budget: int,
        counter: TokenCounter,
        *,
        room: int,
        importance: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self._counter = counter
        self._importance = importance
        whole = [(index, unit) for index, unit in enumerate(earlier) if not is_summary(unit[0])]
        self._whole = dict(whole)
        self._messages = sum(len(unit) for _, unit in whole)
        self._left_out: Counter[str] = Counter()
        self._budget = budget
        self._cap = cap = max(_SMALLEST_UNIT, int(layout.limit("recent", budget) * _UNIT_SHARE))
        self._newest: list[_Measured] = []
        self._least: list[_Measured] = []
        self._older: list[_Measured] = []
        count = cost = spoken = self.next_cost = 0
        for index, unit in reversed(whole):
            if cost > budget:
                break
            bounded = [bounded_message(message, budget) for message in unit]
            size = counter.messages(bounded)
            if spoken < layout.newest and not self._least and not self._older and cost + size <= room:
                self._newest.append((index, bounded, size))
            else:
                fitted = fit_unit(bounded, cap, counter)
                size = counter.messages(fitted)
                (self._least if count < layout.min_recent else self._older).append((index, fitted, size))
                self.next_cost += size if spoken < layout.shown and count >= layout.min_recent else 0
            count, cost, spoken = count + len(unit), cost + size, spoken + (not is_of_tools(unit[0]))
        self.kept: dict[int, Unit] = {}
        self._granted = 0
        self._unbroken = True

    @property
    def newest_cost(self) -> int:
        """Tokens of the messages that stay whole."""
        return sum(cost for _, _, cost in self._newest)

    @property
    def least_cost(self) -> int:
        """Tokens of the others that always stay."""
        return sum(cost for _, _, cost in self._least)

    @property
    def older_cost(self) -> int:
        """Tokens of all others, up to more than the budget."""
        return sum(cost for _, _, cost in self._older)

    @property
    def kept_messages(self) -> list[AnyMessage]:
        """The messages that are in the prompt, in their order."""
        return [message for index in sorted(self.kept) for message in self.kept[index]]

    @property
    def whole_ids(self) -> set[str]:
        """Ids of the messages that are in the prompt as they were said."""
        return {
            str(message.id)
            for index, unit in self.kept.items()
            for said, message in zip(self._whole[index], unit, strict=True)
            if said is message
        }

    @property
    def is_cut_off(self) -> bool:
        """Whether older messages are left out."""
        return len(self.kept_messages) < self._messages

    @property
    def is_whole(self) -> bool:
        """Whether all messages are in the prompt as they were said."""
        return len(self.kept) == len(self._whole) and not any(
            is_cut(self._whole[at], self.kept[at]) for at in self.kept
        )

    def keep_least(self, room: int) -> None:
        """Keep the messages that always stay; those that may be are cut short where the room is short."""
        least = room - self.newest_cost
        fitted = fit_units([unit for _, unit, _ in self._least], least, self._counter, newest_first=True)
        self.kept = {index: unit for index, unit, _ in self._newest}
        self.kept |= {index: unit for (index, _, _), unit in zip(self._least, fitted.items, strict=False)}
        self._unbroken = len(fitted.items) == len(self._least)
        self._granted = room

    def keep_older(self, room: int) -> int:
        """Keep the newest of the others that fit, without a gap, or the most important; the tokens they take."""
        used = 0
        older = sorted(self._older, key=self._weight) if self._importance else self._older
        for index, unit, cost in older if self._unbroken else ():
            if used + cost > room:
                if self._importance:
                    continue
                break
            self.kept[index] = unit
            used += cost
        self._granted += room
        return used

    def _weight(self, measured: _Measured) -> float:
        """The highest importance in a unit comes first; of equal ones the newest, which stands first already."""
        return -max(self._importance.get(str(message.id), 0.0) for message in measured[1])

    def widen(self, room: int) -> None:
        """Give messages that were cut short what no other part of the prompt needs, the newest first.

        One that is not whole even then grows in steps, so that it reads the same from turn to turn and a provider's
        prompt cache serves it.
        """
        for index in sorted(self.kept, reverse=True):
            unit = self.kept[index]
            if not is_cut(self._whole[index], unit):
                continue
            whole = [bounded_message(message, self._budget) for message in self._whole[index]]
            cost = self._counter.messages(unit)
            limit = cost + room
            if self._counter.messages(whole) > limit:
                limit -= limit % self._cap
            wider = fit_unit(whole, limit, self._counter)
            more = self._counter.messages(wider) - cost
            if 0 < more <= room:
                self.kept[index] = wider
                self._granted += more
                room -= more

    def section(self) -> Section:
        """The part as the report tells it; items are messages."""
        kept = self.kept_messages
        left_out = self._left_out.copy()
        if missing := self._messages - len(kept) - left_out.total():
            left_out[NO_ROOM] += missing
        picked = Picked(
            "recent",
            items=kept,
            tokens=self._counter.messages(kept),
            cut=sum(is_cut(self._whole[index], unit) for index, unit in self.kept.items()),
            granted=self._granted,
            left_out=left_out,
        )
        return picked.section()


def fit_units(units: Sequence[Unit], room: int, counter: TokenCounter, *, newest_first: bool = False) -> Picked[Unit]:
    """The units within the room: the longest are cut, and where even that is not enough the oldest left out.

    Args:
        units: in their order.
        room: tokens for all of them.
        counter: what counts.
        newest_first: whether they stand in the reverse order.
    """
    kept = [list(unit) for unit in (units if newest_first else reversed(units))]
    total = len(kept)
    while kept:
        costs = [counter.messages(unit) for unit in kept]
        if sum(costs) <= room:
            break
        shares = share_out(costs, room)
        fitted = [fit_unit(unit, share, counter) for unit, share in zip(kept, shares, strict=True)]
        enough = all(share >= _SMALLEST_UNIT * len(unit) for share, unit in zip(shares, kept, strict=True))
        if enough and counter.messages([message for unit in fitted for message in unit]) <= room:
            kept = fitted
            break
        kept.pop()
    picked: Picked[Unit] = Picked("tools", kept if newest_first else kept[::-1], granted=room)
    picked.tokens = sum(counter.messages(unit) for unit in kept)
    before = units[: len(kept)] if newest_first else units[total - len(kept) :]
    picked.cut = sum(is_cut(old, new) for old, new in zip(before, picked.items, strict=True))
    if total > len(kept):
        picked.left_out[NO_ROOM] += total - len(kept)
    return picked
