"""`draft`: which parts of what there is go into a prompt of so many tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from langchain_core.messages import AnyMessage, SystemMessage

from ..models.counting import TokenCounter
from ..prompts import context as words
from ..state.records import Memory
from ..state.search_records import SearchResult
from ..state.turn_records import Section
from .chain import Parts
from .fit import fit_message
from .history import History, bounded_message, fit_units
from .layout import Layout, granted
from .material import Found, fact_entries, memory_entries, result_entries, texts_of
from .sections import Picked, by_rank
from .summaries import Summaries

_JOINT: Final = 26
"""Tokens kept for the fence, the heading and the joints of a part that is fenced."""


class Sources(NamedTuple):
    """All that could go into the prompt."""

    instructions: str
    parts: Parts
    memories: Sequence[Memory]
    results: Sequence[SearchResult]
    facts: Sequence[str]
    thread_id: str
    light: frozenset[str]


@dataclass
class Draft:
    """What goes into the prompt: messages in their order, and the fenced parts by name with their headings."""

    instructions: str = ""
    earlier: list[AnyMessage] = field(default_factory=list)
    question: AnyMessage | None = None
    tail: list[AnyMessage] = field(default_factory=list)
    blocks: dict[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    recent_cut: bool = False


def draft(sources: Sources, layout: Layout, budget: int, counter: TokenCounter) -> Draft:
    """What goes into a prompt of about `budget` tokens; the caller counts the whole.

    What is recalled is compared with the messages that stay, so it is picked twice where these leave it less to say.
    """
    drafting = _Drafting(sources, layout, max(1, budget), counter)
    made = drafting.picked()
    if drafting.found_less():
        made = drafting.picked()
    return made


class _Drafting:
    """The steps of one draft."""

    def __init__(self, sources: Sources, layout: Layout, budget: int, counter: TokenCounter) -> None:
        self.sources, self.layout, self.budget, self.counter = sources, layout, budget, counter
        parts = sources.parts
        self.question = bounded_message(parts.question, budget) if parts.question is not None else None
        self.tail = [[bounded_message(message, budget) for message in unit] for unit in parts.tail]
        self.history = History(parts.earlier, layout, budget, counter)
        self.summaries = Summaries(parts.earlier, layout, budget, counter)
        self.facts = fact_entries(sources.facts, budget, counter)
        self.results, self.memories = self._found(self._asked())
        self.needs = {
            "question": counter.messages([self.question]) if self.question is not None else 0,
            "system": counter.messages([SystemMessage(sources.instructions)]),
            "tail": sum(counter.messages(unit) for unit in self.tail),
            "least": self.history.least_cost,
            "recent": self.history.older_cost,
            "summaries": self.summaries.cost,
            "facts": _cost(self.facts),
            "retrieved": _cost(self.results) + _cost(self.memories),
        }
        fenced = [self.facts[0], self.results[0], self.memories[0], [] if layout.in_place else self.summaries.items]
        self.room = budget - _JOINT * sum(1 for entries in fenced if entries)

    def picked(self) -> Draft:
        """Every part within what is granted to it, the most important first; what is unused flows to the next."""
        grants = granted(self.needs, self.layout, self.room)
        made = Draft(instructions=self._instructions(grants["system"]))
        if self.question is not None:
            made.question = fit_message(self.question, grants["question"], self.counter)
        tail = fit_units(self.tail, grants["tail"], self.counter)
        made.tail = [message for unit in tail.items for message in unit]
        self.history.keep_least(grants["least"])
        pool = 0
        chosen: dict[str, Picked[str]] = {}
        for part in reversed(self.layout.trim):
            room = grants[part] + pool
            if part == "recent":
                pool = room - self.history.keep_older(room)
            elif part == "summaries":
                pool = room - self.summaries.keep(room)
            elif part == "facts":
                chosen["facts"] = _by_rank("facts", self.facts, room, self.counter)
                pool = room - chosen["facts"].tokens
            else:
                chosen |= self._retrieved(room)
                pool = room - chosen["results"].tokens - chosen["memories"].tokens
        self.history.widen(self.room - sum(grants.values()) + pool)
        made.earlier = self._earlier()
        made.recent_cut = self.history.is_cut_off
        made.blocks = self._blocks(chosen)
        made.sections = self._sections(made, tail, chosen)
        return made

    def found_less(self) -> bool:
        """Compare what was found with the messages that stay; whether that leaves room for more of these."""
        shown = [*self._asked(), *self.history.kept_messages, *self.summaries.kept]
        before = self.results, self.memories
        self.results, self.memories = self._found(shown)
        self.needs["retrieved"] = _cost(self.results) + _cost(self.memories)
        return (self.results, self.memories) != before

    def _asked(self) -> list[AnyMessage]:
        question = [self.question] if self.question is not None else []
        return [*question, *(message for unit in self.tail for message in unit)]

    def _found(self, shown: Sequence[AnyMessage]) -> tuple[Found, Found]:
        said = texts_of(shown)
        results = result_entries(self.sources.results, said, self.budget, self.counter)
        kept = {str(message.id) for message in self.history.kept_messages}
        memories = memory_entries(
            self.sources.memories,
            shown,
            said,
            self.budget,
            self.counter,
            thread_id=self.sources.thread_id,
            cut=kept - (self.history.whole_ids - self.sources.light),
        )
        return results, memories

    def _instructions(self, granted_tokens: int) -> str:
        room = granted_tokens - self.counter.messages([SystemMessage("")])
        # The end stays, too: there stands what the caller said last.
        return self.counter.truncate(self.sources.instructions, room, "both")

    def _retrieved(self, room: int) -> dict[str, Picked[str]]:
        """Results and memories, each half of the room and what the other does not need."""
        wanted = _cost(self.memories)
        results = _by_rank("results", self.results, max(room // 2, room - wanted), self.counter)
        return {
            "results": results,
            "memories": _by_rank("memories", self.memories, room - results.tokens, self.counter),
        }

    def _earlier(self) -> list[AnyMessage]:
        """Recent messages, and the summaries among them where these stand in their places."""
        placed = dict(self.history.kept)
        if self.layout.in_place:
            placed |= {place: [summary] for place, summary in self.summaries.kept_places}
        return [message for place in sorted(placed) for message in placed[place]]

    def _blocks(self, chosen: dict[str, Picked[str]]) -> dict[str, tuple[str, Sequence[str]]]:
        blocks: dict[str, tuple[str, Sequence[str]]] = {
            "facts": (words.FACTS, chosen["facts"].items),
            "results": (words.RESULTS, chosen["results"].items[::-1]),
            "memories": (words.MEMORIES, chosen["memories"].items[::-1]),
        }
        if not self.layout.in_place:
            blocks["summaries"] = (words.SUMMARIES, self.summaries.entries())
        return {name: block for name, block in blocks.items() if block[1]}

    def _sections(
        self, made: Draft, tail: Picked[list[AnyMessage]], chosen: dict[str, Picked[str]]
    ) -> tuple[Section, ...]:
        counter = self.counter
        system = Section(
            name="system",
            tokens=counter.text(made.instructions),
            items=1,
            cut=int(made.instructions != self.sources.instructions),
        )
        asked = [made.question] if made.question is not None else []
        question = Section(
            name="question",
            tokens=counter.messages(asked),
            items=len(asked),
            cut=int(made.question is not self.sources.parts.question),
        )
        found = [chosen["results"].section(), chosen["memories"].section()]
        sections = [system, self.summaries.section(), self.history.section(), *found, question]
        if self.sources.facts:
            sections.insert(1, chosen["facts"].section())
        if self.tail:
            sections.append(tail.section())
        return tuple(sections)


def _cost(found: Found) -> int:
    return sum(entry.tokens for entry in found[0])


def _by_rank(name: str, found: Found, room: int, counter: TokenCounter) -> Picked[str]:
    """The entries that fit, and with those that did not what was left out before."""
    picked = by_rank(name, found[0], room, counter)
    picked.left_out = Counter({**found[1], **picked.left_out})
    return picked
