"""`Summaries`: those of the chain, of which the oldest give way first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage

from ..models.counting import TokenCounter
from ..state.chain import is_summary, summary_of
from ..state.messages import message_text
from ..state.records import MASTER_LEVEL
from ..state.turn_records import Section
from ..text.repeats import ShownTexts
from .fence import summary_entry
from .fit import bounded_message
from .layout import Layout
from .sections import NO_ROOM, REPEATED, TOO_MANY, WORTH_A_CUT, Picked
from .summary_messages import summary_message_text


class Summaries:
    """The summaries of the chain, each once.

    Args:
        earlier: units and summaries before the question.
        layout: how many at most, and whether they stand in their places.
        budget: tokens of the prompt.
        counter: what counts.
    """

    def __init__(self, earlier: Sequence[list[AnyMessage]], layout: Layout, budget: int, counter: TokenCounter) -> None:
        self._counter = counter
        self._in_place = layout.in_place
        self._left_out: Counter[str] = Counter()
        self.items: list[tuple[int, AnyMessage, int]] = []
        said = ShownTexts()
        for index, unit in reversed(list(enumerate(earlier))):
            if not is_summary(unit[0]):
                continue
            summary = bounded_message(unit[0], budget)
            text = message_text(summary)
            if said.has(text):
                self._left_out[REPEATED] += 1
            elif layout.max_summaries is not None and len(self.items) >= layout.max_summaries:
                self._left_out[TOO_MANY] += 1
            else:
                said.add(text)
                self.items.append((index, summary, self._cost(summary)))
        self.kept_indices: list[tuple[int, AnyMessage]] = []
        self._picked: Picked[AnyMessage] = Picked("summaries")

    @property
    def cost(self) -> int:
        """Tokens of all of them."""
        return sum(cost for _, _, cost in self.items)

    @property
    def kept(self) -> list[AnyMessage]:
        """Those in the prompt, the oldest first."""
        return [summary for _, summary in self.kept_indices]

    @property
    def is_whole(self) -> bool:
        """Whether all are in the prompt, and none is cut."""
        return not self._picked.cut and len(self.kept_indices) == len(self.items)

    @property
    def is_cut_off(self) -> bool:
        """Whether one is left out for want of room."""
        return len(self.kept_indices) < len(self.items)

    def keep(self, room: int) -> int:
        """Keep the newest that fit, and the next one cut to the rest; the tokens they take."""
        picked: Picked[AnyMessage] = Picked("summaries", granted=max(0, room), left_out=self._left_out.copy())
        indices: list[tuple[int, AnyMessage]] = []
        for index, summary, cost in self.items:
            left = room - picked.tokens
            if cost > left:
                if shortened := self._shortened(summary, left):
                    indices.append((index, shortened))
                    picked.tokens += self._cost(shortened)
                    picked.cut += 1
                break
            indices.append((index, summary))
            picked.tokens += cost
        if missing := len(self.items) - len(indices):
            picked.left_out[NO_ROOM] += missing
        self.kept_indices = indices[::-1]
        picked.items = self.kept
        self._picked = picked
        return picked.tokens

    def entries(self) -> list[str]:
        """Those in the prompt as entries for the fence: the highest level first (seed `003`), then the oldest."""
        return [summary_entry(message_text(summary)) for summary in sorted(self.kept, key=_rank)]

    def section(self) -> Section:
        """The part as the report tells it."""
        return self._picked.section()

    def _cost(self, summary: AnyMessage) -> int:
        if self._in_place:
            return self._counter.messages([HumanMessage(summary_message_text(summary))])
        return self._counter.text(summary_entry(message_text(summary))) + 1

    def _shortened(self, summary: AnyMessage, room: int) -> AnyMessage | None:
        text = message_text(summary)
        around = self._cost(summary) - self._counter.text(text)
        if room < WORTH_A_CUT or room <= around:
            return None
        cut = self._counter.truncate(text, room - around)
        shortened: AnyMessage = summary.model_copy(update={"content": cut})
        return shortened if self._cost(shortened) <= room else None


def _rank(summary: AnyMessage) -> float:
    level = summary_of(summary).level
    return float("-inf") if level == MASTER_LEVEL else -level
