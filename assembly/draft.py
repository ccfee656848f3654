"""`draft`: which parts of what there is go into a prompt of a number of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Final, NamedTuple

from langchain_core.messages import AnyMessage, SystemMessage

from ..models.counting import TokenCounter
from ..prompts import context as words
from ..state.records import Memory, now
from ..state.turn_records import Section
from .chain import ChainParts
from .days import day_of
from .fence import chronicle
from .fit import bounded_message, fit_message
from .history import History, fit_units
from .layout import RESERVED_SHARE, Layout, granted
from .material import Material
from .sections import Entry, Picked, RankedEntries, by_rank
from .summaries import Summaries

_JOINT: Final = 26
"""Tokens kept for the fence, the heading and the joints of a part that is fenced."""

_OF_WHOLE: Final = 0.35
"""The share of the prompt up to which a little of many is told, where other parts leave as much. By trial on BEAM."""


class PromptSources(NamedTuple):
    """All that could go into the prompt.

    Attributes:
        instructions: the caller's system prompt, and what the chain has of instructions.
        parts: the chain.
        facts: what is known about the user for longer.
        news: what else is known, for this turn alone.
        material: what was found for the question.
        light: ids of messages of the chain of which only a part is there.
        importance: of messages of the chain, by their ids, where that says which stay.
        days: of messages of the chain that begin another day, by their ids.
    """

    instructions: str
    parts: ChainParts
    facts: RankedEntries
    news: RankedEntries
    material: Material
    light: frozenset[str]
    importance: Mapping[str, float] = MappingProxyType({})
    days: Mapping[str, date] = MappingProxyType({})


@dataclass
class PromptDraft:
    """What goes into the prompt: messages in their order, and the fenced parts by name with their headings."""

    instructions: str
    earlier: list[AnyMessage] = field(default_factory=list)
    question: AnyMessage | None = None
    tail: list[AnyMessage] = field(default_factory=list)
    blocks: dict[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    memories: tuple[Memory, ...] = ()
    left_out: bool = False


def draft(sources: PromptSources, layout: Layout, budget: int, counter: TokenCounter) -> PromptDraft:
    """What goes into a prompt of about `budget` tokens; the caller counts the whole.

    First it is settled which messages stay, beside the share of what was found; then what these say already is left out
    of what was found. Where that takes another room than its share, it is settled once more.
    """
    drafting = _Drafting(sources, layout, max(1, budget), counter)
    drafting.settle()
    if drafting.compare():
        drafting.settle()
        drafting.compare()
    return drafting.made()


class _Drafting:
    """The steps of one draft."""

    def __init__(self, sources: PromptSources, layout: Layout, budget: int, counter: TokenCounter) -> None:
        self.sources, self.layout, self.budget, self.counter = sources, layout, budget, counter
        parts = sources.parts
        self.question = bounded_message(parts.question, budget) if parts.question is not None else None
        self.tail = [[bounded_message(message, budget) for message in unit] for unit in parts.tail]
        always = {
            "question": counter.messages([self.question]) if self.question is not None else 0,
            "system": counter.messages([SystemMessage(sources.instructions)]),
            "tail": sum(counter.messages(unit) for unit in self.tail),
        }
        room = int((1 - RESERVED_SHARE) * budget) - sum(always.values())
        self.history = History(parts.earlier, layout, budget, counter, room=room, importance=sources.importance)
        self.summaries = Summaries(parts.earlier, layout, budget, counter)
        self.needs = {
            **always,
            "newest": self.history.newest_cost,
            "next": self.history.next_cost,
            "least": self.history.least_cost,
            "recent": self.history.older_cost,
            "summaries": self.summaries.cost,
            "facts": sources.facts.tokens + sources.news.tokens,
            "retrieved": layout.limit("retrieved", budget) if sources.material else 0,
        }
        leading = () if layout.in_place else self.summaries.items
        fenced = (
            sources.facts.entries,
            sources.news.entries,
            sources.material.results,
            sources.material.memories,
            leading,
        )
        self.room = budget - _JOINT * sum(1 for entries in fenced if entries)

    def settle(self) -> None:
        """Share out the room: which messages and summaries stay. What a part leaves unused flows to the next."""
        grants = granted(self.needs, self.layout, self.room)
        self.history.keep_least(grants["newest"] + grants["least"])
        self.rooms = dict(grants)
        unused = 0
        for part in reversed(self.layout.trim):
            room = grants[part] + unused
            if part == "recent":
                used = self.history.keep_older(room)
            elif part == "summaries":
                used = self.summaries.keep(room)
            else:
                used = self.rooms[part] = min(room, self.needs[part])
            unused = room - used
        self.history.widen(self.room - sum(grants.values()) + unused)

    def compare(self) -> bool:
        """Leave out of what was found what the messages say that stay; whether to settle again with what it takes."""
        shown = [*self._asked(), *self.history.kept_messages, *self.summaries.kept]
        kept = {str(message.id) for message in self.history.kept_messages}
        cut = kept - (self.history.whole_ids - self.sources.light)
        self.results, self.memories = self.sources.material.compared(shown, cut)
        self.needs["retrieved"] = self.results.tokens + self.memories.tokens
        if self.sources.material.in_short:
            most = max(self.layout.limit("retrieved", self.budget), int(_OF_WHOLE * self.budget))
            self.needs["retrieved"] = min(self.needs["retrieved"], most)
        is_whole = self.history.is_whole and self.summaries.is_whole and self.rooms["facts"] >= self.needs["facts"]
        return self.needs["retrieved"] > self.rooms["retrieved"] or not is_whole

    def made(self) -> PromptDraft:
        """The draft: every part within what it may take, the most important of it first."""
        counter, rooms = self.counter, self.rooms
        # The end of the instructions stays, too: there stands what the caller said last.
        room = rooms["system"] - counter.messages([SystemMessage("")])
        made = PromptDraft(counter.truncate(self.sources.instructions, room, "both"))
        if self.question is not None:
            made.question = fit_message(self.question, rooms["question"], counter)
        tail = fit_units(self.tail, rooms["tail"], counter)
        made.tail = [message for unit in tail.items for message in unit]
        news = by_rank("facts", self.sources.news, rooms["facts"])
        facts = by_rank("facts", self.sources.facts, rooms["facts"] - news.tokens)
        # Results and memories: each half of the room and what the other does not need.
        half = max(rooms["retrieved"] // 2, rooms["retrieved"] - self.memories.tokens)
        results = by_rank("results", self.results, half)
        memories = by_rank("memories", self.memories, rooms["retrieved"] - results.tokens)
        made.memories = tuple(entry.memory for entry in memories.items if entry.memory is not None)
        made.earlier = self._earlier()
        made.left_out = self.history.is_cut_off or self.summaries.is_cut_off
        made.blocks = self._blocks(facts, news, results, memories)
        known = facts.with_(news)
        found = [known.section()] if known.items or known.left_out else []
        made.sections = (
            self._system(made),
            *found,
            self.summaries.section(),
            self.history.section(),
            results.section(),
            memories.section(),
            self._question(made),
            *([tail.section()] if self.tail else []),
        )
        return made

    def _asked(self) -> list[AnyMessage]:
        question = [self.question] if self.question is not None else []
        return [*question, *(message for unit in self.tail for message in unit)]

    def _earlier(self) -> list[AnyMessage]:
        """Recent messages, and the summaries among them where these stand in their places."""
        placed = dict(self.history.kept)
        if self.layout.in_place:
            placed |= {index: [summary] for index, summary in self.summaries.kept_indices}
        return [message for index in sorted(placed) for message in placed[index]]

    def _blocks(
        self, facts: Picked[Entry], news: Picked[Entry], results: Picked[Entry], memories: Picked[Entry]
    ) -> dict[str, tuple[str, Sequence[str]]]:
        """The fenced parts: of what was found the most relevant stands last, nearest to the question; of a whole what
        was said last."""
        ranked = [entry.memory for entry in memories.items if entry.memory is not None]
        told = chronicle(ranked) if self.sources.material.in_short else [entry.text for entry in memories.items[::-1]]
        today = day_of(self.sources.parts.question, now().date())
        blocks: dict[str, tuple[str, Sequence[str]]] = {
            "facts": (words.FACTS, [entry.text for entry in facts.items]),
            "news": (words.NEWS if facts.items else words.FACTS, [entry.text for entry in news.items]),
            "results": (words.RESULTS, [entry.text for entry in reversed(results.items)]),
            "memories": (words.MEMORIES.format(today=today), told),
        }
        if not self.layout.in_place:
            blocks["summaries"] = (words.SUMMARIES, self.summaries.entries())
        return {name: block for name, block in blocks.items() if block[1]}

    def _system(self, made: PromptDraft) -> Section:
        cut = int(made.instructions != self.sources.instructions)
        return Section(name="system", tokens=self.counter.text(made.instructions), items=1, cut=cut)

    def _question(self, made: PromptDraft) -> Section:
        asked = [made.question] if made.question is not None else []
        cut = int(made.question is not self.sources.parts.question)
        return Section(name="question", tokens=self.counter.messages(asked), items=len(asked), cut=cut)
