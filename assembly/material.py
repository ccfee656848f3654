"""What was found for the question, as entries for the fence: nothing blank, nothing that the prompt says already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Final

from langchain_core.messages import AnyMessage

from ..models.counting import TokenCounter
from ..prompts import context as words
from ..state.chain import is_summary, summary_of
from ..state.messages import message_text
from ..state.records import Memory, Summary
from ..state.search_records import SearchResult
from ..text.fold import fold
from ..text.repeats import Said
from ..text.shorten import middle_out
from .fence import fact_entry, memory_entry, result_entry
from .fit import fit_texts
from .sections import BLANK, IN_CHAIN, REPEATED, Entry

Found = tuple[list[Entry], Counter[str]]
"""Entries, and what was left out of them for which reason."""

CHARACTERS_A_TOKEN: Final = 32
"""More characters than this for each token of the budget are cut before anything is counted."""

_SHORTENINGS: Final = 3


def bounded(text: str, budget: int) -> str:
    """The text with its middle cut out, if it is so long that it cannot fit into `budget` tokens by far."""
    return middle_out(text, CHARACTERS_A_TOKEN * max(budget, 1), words.CUT)


def fact_entries(facts: Sequence[str], budget: int, counter: TokenCounter) -> Found:
    """Facts and pins, each once whatever its case (seed `004`, "Deduplication")."""
    entries: list[Entry] = []
    left_out: Counter[str] = Counter()
    known: set[str] = set()
    for fact in facts:
        text = fact_entry(bounded(fact, budget))
        plain = fold(text)
        if plain.strip() == "-" or plain in known:
            left_out[REPEATED if plain in known else BLANK] += 1
            continue
        known.add(plain)
        entries.append(Entry(text, counter.text(text) + 1, lambda _: ""))
    return entries, left_out


def result_entries(results: Sequence[SearchResult], said: Said, budget: int, counter: TokenCounter) -> Found:
    """Search results, numbered by their rank."""
    entries: list[Entry] = []
    left_out: Counter[str] = Counter()
    for number, result in enumerate(results, start=1):
        content = bounded(result.content, budget)
        if not content.strip() and not result.title.strip():
            left_out[BLANK] += 1
        elif said.has(content):
            left_out[REPEATED] += 1
        else:
            said.add(content)
            entries.append(_result(number, result, content, counter))
    return entries, left_out


def memory_entries(
    memories: Sequence[Memory],
    shown: Sequence[AnyMessage],
    said: Said,
    budget: int,
    counter: TokenCounter,
    *,
    thread_id: str = "",
    cut: Collection[str] = (),
) -> Found:
    """Memories without what the prompt shows already.

    A message that stands whole in the prompt is left out of a memory. The raw text of what a summary in the prompt
    tells in short is kept, for it is the evidence, and marked as the same thing.

    Args:
        memories: the most relevant first.
        shown: the messages and summaries in the prompt.
        said: their texts; those of the memories are added.
        budget: tokens of the prompt.
        counter: what counts.
        thread_id: the thread of the chain; empty where ids are unique over all threads.
        cut: ids of messages in the prompt of which only a part is shown.
    """
    entries: list[Entry] = []
    left_out: Counter[str] = Counter()
    ids = {str(message.id) for message in shown if message.id}.difference(cut)
    covered = {id_ for message in shown if (summary := summary_behind(message)) for id_ in summary.source_ids}
    for memory in memories:
        here = not thread_id or memory.thread_id == thread_id
        contents = [
            "" if here and fragment.id in ids else bounded(fragment.content, budget) for fragment in memory.fragments
        ]
        told = [content for content in contents if content.strip()]
        if not told:
            in_chain = here and any(fragment.id in ids for fragment in memory.fragments)
            left_out[IN_CHAIN if in_chain else BLANK] += 1
        elif all(said.has(content) for content in told):
            left_out[REPEATED] += 1
        else:
            for content in told:
                said.add(content)
            summarized = here and any(id_ in covered for id_ in memory.source_ids)
            entries.append(_memory(memory, contents, summarized, counter))
    return entries, left_out


def summary_behind(message: AnyMessage) -> Summary | None:
    """The record behind a summary message; None for another message."""
    return summary_of(message) if is_summary(message) else None


def texts_of(messages: Sequence[AnyMessage]) -> Said:
    """What these messages say."""
    said = Said()
    for message in messages:
        said.add(message_text(message))
    return said


def _result(number: int, result: SearchResult, content: str, counter: TokenCounter) -> Entry:
    text = result_entry(number, result, content)

    def shorten(limit: int) -> str:
        room = limit - counter.text(result_entry(number, result, "")) - 1
        return result_entry(number, result, counter.truncate(content, room)) if room > 0 else ""

    return Entry(text, counter.text(text) + 1, _tightened(shorten, counter))


def _memory(memory: Memory, contents: Sequence[str], summarized: bool, counter: TokenCounter) -> Entry:
    text = memory_entry(memory, contents, summarized=summarized)

    def shorten(limit: int) -> str:
        frame = counter.text(memory_entry(memory, ["." if content.strip() else "" for content in contents]))
        room = limit - frame - 1
        return memory_entry(memory, fit_texts(contents, room, counter), summarized=summarized) if room > 0 else ""

    return Entry(text, counter.text(text) + 1, _tightened(shorten, counter))


def _tightened(shorten: Callable[[int], str], counter: TokenCounter) -> Callable[[int], str]:
    """Shortening that counts what came out, and tries again with less: setting lines in adds tokens."""

    def tightened(limit: int) -> str:
        room = limit
        for _ in range(_SHORTENINGS):
            text = shorten(room)
            over = counter.text(text) + 1 - limit
            if over <= 0:
                return text
            room -= over + 4
        return ""

    return tightened
