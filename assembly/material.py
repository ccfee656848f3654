"""What was found for the question, as entries for the fence: nothing blank, nothing that the prompt says already."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from langchain_core.messages import AnyMessage

from ..memory.pairing import fragment_tokens, is_reply, with_fragments
from ..models.counting import TokenCounter
from ..state.chain import is_summary, summary_of
from ..state.messages import message_text
from ..state.records import Fragment, Memory
from ..state.search_records import SearchResult
from ..text.fold import fold
from ..text.outline import outline
from ..text.passages import excerpt
from ..text.repeats import ShownTexts
from ..text.scope import asks_for_whole
from ..text.sentences import sentences
from ..text.shorten import share_out, truncate_to_tokens
from ..text.terms import search_terms
from ..text.tokens import estimate_tokens
from ..text.words import is_question
from .fence import fact_entry, is_summary_itself, memory_entry, other_days, result_entry, set_in
from .layout import Layout
from .sections import BLANK, REPEATED, Entry, RankedEntries

_TRIES: Final = 3
"""Times that an excerpt is made smaller, where the model counts more tokens than the estimate."""

_JOINTS: Final = 4
"""Tokens more that the parts of an entry may take together than each by itself."""

_FRAME: Final = 12
"""Tokens of the day and the speaker before a message of a memory, about."""

_WHOLE: Final = 80
"""Tokens up to which a message that was found is shown whole, however many a memory has."""

_REPLY: Final = 0.25
"""The share of a message's tokens that a reply may have which was not found itself, beside the question that was."""

_IN_SHORT: Final = 100
"""Tokens of a message where a whole or an order is asked for: a little of many. By trial on BEAM and LoCoMo."""

_LABEL: Final = re.compile(r"^[^\s:：]{1,40}[:：]\s*")
"""Who said a sentence of a summary."""

_WORTH_A_CUT: Final = 30
"""Tokens below which a message is left out rather than cut."""


def fact_entries(facts: Sequence[str], counter: TokenCounter) -> RankedEntries:
    """Facts and pins, each once whatever its case."""
    entries: list[Entry] = []
    left_out: Counter[str] = Counter()
    known: set[str] = set()
    for fact in facts:
        text = fact_entry(fact)
        plain = fold(text)
        if plain.strip() == "-" or plain in known:
            left_out[REPEATED if plain in known else BLANK] += 1
            continue
        known.add(plain)
        entries.append(Entry(text, counter.text(text) + 1, lambda _: None))
    return RankedEntries(entries, left_out)


def found_tokens(results: Sequence[SearchResult], memories: Sequence[Memory], layout: Layout, budget: int) -> int:
    """About how many tokens what was found takes in a prompt of so many, if none of it stands there already."""
    sizes = [estimate_tokens(result.content) for result in results]
    sizes += [
        _FRAME + min(estimate_tokens(fragment.content), fragment_tokens(memory, fragment, layout.memory_tokens))
        for memory in memories[: layout.max_memories]
        for fragment in memory.fragments
    ]
    return min(sum(sizes), layout.limit("retrieved", budget))


@dataclass
class Material:
    """Search results and memories, compared with what stands in the prompt.

    Attributes:
        results: search results, the most relevant first.
        memories: the most relevant first.
        question: what they were found for.
        layout: how many memories at most, and how long a message in one.
        counter: what counts.
        thread_id: the thread of the chain; empty where ids are unique over all threads.
        unfolded: ids of summaries in whose place their messages stand.
        found: ids of the messages and summaries that the search found, the best first; none where that is not known.
        in_short: whether a whole or an order is asked for: then a little of many is told, in the order it was said.
    """

    results: Sequence[SearchResult]
    memories: Sequence[Memory]
    question: str
    layout: Layout
    counter: TokenCounter
    thread_id: str
    unfolded: Collection[str] = ()
    found: Sequence[str] = ()
    in_short: bool = field(init=False)
    _asked: frozenset[str] = field(init=False)
    _known: dict[tuple[int, frozenset[str], bool, date | None], Entry] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.in_short = bool(self.memories) and asks_for_whole(self.question)
        self._asked = frozenset(search_terms(self.question)) if self.memories else frozenset()

    def __bool__(self) -> bool:
        return bool(self.results or self.memories)

    def compared(self, shown: Sequence[AnyMessage], cut: Collection[str]) -> tuple[RankedEntries, RankedEntries]:
        """Search results, and memories, without what these messages say.

        A message that stands whole in the prompt is left out of a memory. The raw text of what a summary in the prompt
        tells in short is kept, for it is the evidence, and marked as the same thing.

        Args:
            shown: the messages and summaries in the prompt.
            cut: ids of messages among them of which only a part is shown.
        """
        said = ShownTexts()
        if self:
            for message in shown:
                said.add(message_text(message))
        return self._new_results(said), self._new_memories(said, shown, cut)

    def _new_results(self, said: ShownTexts) -> RankedEntries:
        entries: list[Entry] = []
        left_out: Counter[str] = Counter()
        for number, result in enumerate(self.results, start=1):
            if not result.content.strip() and not result.title.strip():
                left_out[BLANK] += 1
            elif said.has(result.content):
                left_out[REPEATED] += 1
            else:
                said.add(result.content)
                entries.append(self._result(number, result))
        return RankedEntries(entries, left_out)

    def _new_memories(self, said: ShownTexts, shown: Sequence[AnyMessage], cut: Collection[str]) -> RankedEntries:
        """Up to the number wanted; those that stand in the prompt are not left out of it, and not counted as such."""
        entries: list[Entry] = []
        left_out: Counter[str] = Counter()
        there = {str(message.id) for message in shown if message.id}.difference(cut).union(self.unfolded)
        covered = {id_ for message in shown if is_summary(message) for id_ in summary_of(message).source_ids}
        told = self._told()
        days: set[tuple[str, date]] = set()
        for at, memory in enumerate(self.memories):
            if len(entries) >= self.layout.max_memories:
                break
            is_here = not self.thread_id or memory.thread_id == self.thread_id
            new = [
                f
                for f in memory.fragments
                if not (is_here and f.id in there) and not self._adds_nothing(memory, f, told)
            ]
            texts = [fragment.content for fragment in new if fragment.content.strip()]
            if new and not texts:
                left_out[BLANK] += 1
            elif new and all(said.has(text) for text in texts):
                left_out[REPEATED] += 1
            elif new:
                for text in texts:
                    said.add(text)
                is_summarized = is_here and not self.in_short and not covered.isdisjoint(memory.source_ids)
                day = memory.thread_id, memory.created_at.date()
                same_day = day[1] if self.in_short and day in days else None
                days.add(day)
                entries.append(self._memory(at, new, is_summarized, same_day))
        return RankedEntries(entries, left_out)

    def _adds_nothing(self, memory: Memory, fragment: Fragment, told: ShownTexts) -> bool:
        """Whether it asks what is asked in the same words, or is a summary whose sentences stand in told messages."""
        content = fragment.content
        if not is_summary_itself(memory, fragment):
            brief = len(content) <= 2 * len(self.question) and is_question(content)
            return brief and self._asked == frozenset(search_terms(content))
        parts = [_LABEL.sub("", sentence) for sentence in sentences(content)]
        return bool(parts) and all(told.has(part) for part in parts)

    def _told(self) -> ShownTexts:
        """What the messages say that were found."""
        told = ShownTexts()
        for memory in self.memories[: self.layout.max_memories]:
            for fragment in memory.fragments:
                if not is_summary_itself(memory, fragment):
                    told.add(fragment.content)
        return told

    def _result(self, number: int, result: SearchResult) -> Entry:
        counter = self.counter

        def made(content: str) -> Entry:
            text = result_entry(number, result, content)
            return Entry(text, counter.text(text) + 1, shortened)

        def shortened(limit: int) -> Entry | None:
            room = limit - counter.text(result_entry(number, result, "")) - _JOINTS
            content = truncate_to_tokens(result.content, room, count=self._set_in)
            return made(content) if content else None

        return made(result.content)

    def _memory(self, at: int, fragments: Sequence[Fragment], is_summarized: bool, told: date | None) -> Entry:
        key = at, frozenset(fragment.id for fragment in fragments), is_summarized, told
        if key not in self._known:
            self._known[key] = self._memory_entry(self.memories[at], fragments, is_summarized, told)
        return self._known[key]

    def _memory_entry(
        self, memory: Memory, fragments: Sequence[Fragment], is_summarized: bool, told: date | None
    ) -> Entry:
        """A memory of these fragments, each cut to the passages that bear on the question where it is long."""
        counter = self.counter
        memory = with_fragments(memory, [fragment for fragment in fragments if fragment.content.strip()])
        limits = [self._limit(memory, fragment) for fragment in memory.fragments]

        def made(limits: Sequence[int]) -> Entry:
            cut = [self._excerpt(fragment, limit) for fragment, limit in zip(memory.fragments, limits, strict=True)]
            shown = with_fragments(memory, [fragment for fragment in cut if fragment.content.strip()])
            text = memory_entry(shown, summarized=is_summarized, told=told)
            return Entry(text, counter.text(text) + 1, shortened, shown)

        def shortened(limit: int) -> Entry | None:
            bare = [f.model_copy(update={"content": "." + other_days(memory, f)}) for f in memory.fragments]
            frame = counter.text(memory_entry(with_fragments(memory, bare), summarized=is_summarized, told=told))
            costs = [min(self._set_in(f.content), most) for f, most in zip(memory.fragments, limits, strict=True)]
            entry = made(self._shared(memory, costs, limit - frame - _JOINTS))
            return entry if entry.text else None

        return made(limits)

    def _limit(self, memory: Memory, fragment: Fragment) -> int:
        """Tokens of a message in a memory, at most."""
        limit, most = fragment_tokens(memory, fragment, self.layout.memory_tokens), self.layout.memory_tokens
        if self.in_short and memory.source_type == "message":
            return min(limit, _IN_SHORT)
        if not (ranks := self._ranks(memory)):
            return limit
        if is_reply(fragment):
            return limit if fragment.id in ranks else min(limit, int(_REPLY * most))
        return max(limit, min(_WHOLE, most))

    def _shared(self, memory: Memory, costs: Sequence[int], room: int) -> list[int]:
        """Tokens of each message of a memory that has no room whole: people's first, the best found first."""
        if not (ranks := self._ranks(memory)):
            return share_out(costs, room)
        shares = [0] * len(costs)
        parts = [(is_reply(f), ranks.get(f.id, len(self.found)), at) for at, f in enumerate(memory.fragments)]
        for _, _, at in sorted(parts):
            if (share := min(costs[at], room)) >= min(costs[at], _WORTH_A_CUT):
                shares[at] = share
                room -= share
        return shares

    def _ranks(self, memory: Memory) -> dict[str, int]:
        """The rank of each message of a memory that was found; of one of a team space none is known."""
        ids = {fragment.id for fragment in memory.fragments}
        return {id_: rank for rank, id_ in enumerate(self.found) if id_ in ids and memory.space is None}

    def _excerpt(self, fragment: Fragment, limit: int) -> Fragment:
        """The fragment in `limit` tokens, as the model counts them and as they stand in an entry."""
        content = fragment.content
        if limit <= 0:
            return fragment.model_copy(update={"content": ""})
        if (size := self._set_in(content)) <= limit:
            return fragment
        estimated = limit * estimate_tokens(content) // size
        for _ in range(_TRIES):
            content = self._passages(fragment, estimated)
            if (size := self._set_in(content)) <= limit:
                break
            estimated = estimated * limit // size
        else:
            content = truncate_to_tokens(content, limit, count=self._set_in)
        return fragment.model_copy(update={"content": content})

    def _passages(self, fragment: Fragment, limit: int) -> str:
        if self.in_short and is_reply(fragment):
            return outline(fragment.content, self.question, limit)
        return excerpt(fragment.content, self.question, limit, near=fragment.passage)

    def _set_in(self, text: str) -> int:
        """Tokens of a text as it stands in an entry."""
        return self.counter.text(set_in(text))
