"""What is wrong with a thread, found by comparing its state with its archive. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from langchain_core.messages import HumanMessage

from ..state.chain import summary_ids
from ..state.messages import is_empty
from .damage import Damage
from .findings import Finding, FindingKind
from .thread_rows import ThreadRows
from .thread_state import ThreadState

_NAMED: Final = 5
"""Ids that a sentence names; of more, it gives the number."""

_LOOKED_FOR: Final = "looked for in older states of the thread, and archived again where found there"
_SENTENCES: Final[Mapping[FindingKind, tuple[str, str]]] = {
    "damaged row": ("rows that cannot be read", "mended from the thread's state and from what can be read of them"),
    "message not archived": ("messages of the state that the archive lacks", "archived from the state"),
    "summary not archived": ("summaries of the chain that the archive lacks", "replaced by their sources"),
    "source missing": ("sources of summaries that the archive lacks", _LOOKED_FOR),
    "message missing": ("numbers that no message of the archive has", _LOOKED_FOR),
    "fact without source": ("facts and pins whose message the archive lacks", _LOOKED_FOR),
    "order": ("messages with a number out of the order in which they were said", "renumbered"),
    "message changed": (
        "messages of the state that the archive has with another content",
        "the archive takes that of the state, and keeps the other as having left",
    ),
    "lost from chain": ("what is neither in the chain nor in a summary of it", "put back in its place"),
    "mark without summary": ("messages marked as summarized that no summary has", "the mark is taken away"),
    "not embedded": ("what lacks vectors, or some, and is not queued for them", "queued and embedded"),
    "call without result": ("tool calls without a result", "prompts say so in its place"),
    "result without call": ("tool calls with a result that were never made", "prompts leave it out"),
}
"""Of each kind: what is wrong, and what a repair does about it."""

_HARMLESS: Final[Collection[FindingKind]] = {"call without result", "result without call"}
_RESUME: Final = "resume the turn of the thread that waits, or send the next message, and repair then"
OF_CHAIN: Final = frozenset[FindingKind]({"summary not archived", "lost from chain", "mark without summary"})
"""What is repaired by making the chain again, with which a turn that waits to be resumed would be lost."""


@dataclass(frozen=True)
class ThreadSnapshot:
    """A thread as it was found.

    Attributes:
        state: its newest state.
        rows: what the archive has of it.
        changed: ids of messages of the state that the archive has with another content.
        damaged: rows that cannot be read.
    """

    state: ThreadState
    rows: ThreadRows
    changed: Collection[str]
    damaged: Sequence[Damage] = ()

    @cached_property
    def links(self) -> frozenset[str]:
        """Ids of the messages and summaries of the chain."""
        return frozenset(link["id"] for link in self.state.chain["links"])

    @cached_property
    def above(self) -> Mapping[str, str]:
        """By id, the newest summary of the conversation that was made from it."""
        summaries = self.rows.summaries.items()
        return {source: id_ for id_, row in summaries if not row.has_left for source in row.source_ids}

    @cached_property
    def reached(self) -> Collection[str]:
        """Ids of all that stands in the chain on its own, or below a summary in it."""
        found: set[str] = set()
        waiting = [link["id"] for link in self.state.chain["links"] if not link.get("kept")]
        while waiting:
            if (id_ := waiting.pop()) not in found:
                found.add(id_)
                waiting.extend(self.rows.summaries[id_].source_ids if id_ in self.rows.summaries else ())
        return found


def check(thread: ThreadSnapshot) -> list[Finding]:
    """All that is wrong with a thread."""
    rows, links = thread.rows, thread.state.chain["links"]
    known = {*rows.messages, *rows.summaries, *(str(message.id) for message in thread.state.messages)}
    sources = [id_ for row in rows.summaries.values() for id_ in row.source_ids]
    found: Mapping[FindingKind, Iterable[str]] = {
        "damaged row": [damage.row for damage in thread.damaged],
        "message not archived": _unarchived(thread),
        "summary not archived": [id_ for id_ in summary_ids(thread.state.chain) if id_ not in rows.summaries],
        "source missing": [id_ for id_ in sources if id_ not in known],
        "message missing": gaps({*(row.seq for row in rows.messages.values()), *rows.forgotten}),
        "fact without source": [fact for fact, source in rows.facts if source and source not in known],
        "order": [id_ for numbers in orders(thread) for id_ in in_order(numbers)],
        "message changed": thread.changed,
        "lost from chain": _lost(thread),
        "mark without summary": [k["id"] for k in links if k.get("kept") and k["id"] not in thread.above],
        "not embedded": rows.unembedded,
        **_calls(thread),
    }
    return [_finding(kind, tuple(dict.fromkeys(map(str, ids))), thread) for kind, ids in found.items() if ids]


def orders(thread: ThreadSnapshot) -> Iterator[Mapping[str, int]]:
    """Numbers by id of messages whose order is known: of the state's, and of the sources of each summary.

    Results of tools are not among the latter: a late one is archived late, and stands behind its call all the same.
    """
    rows = thread.rows.messages
    said = [str(message.id) for message in thread.state.messages]
    yield {id_: rows[id_].seq for id_ in said if id_ in rows}
    for row in thread.rows.summaries.values():
        yield {id_: rows[id_].seq for id_ in row.source_ids if id_ in rows and rows[id_].role != "tool"}


def in_order(numbers: Mapping[str, int]) -> dict[str, int]:
    """By id, the numbers that change where these are to grow from one to the next: they are the same, sorted."""
    pairs = zip(numbers, sorted(numbers.values()), strict=True)
    return {id_: number for id_, number in pairs if number != numbers[id_]}


def gaps(numbers: Collection[int]) -> list[str]:
    """The numbers from 1 to the largest that are not among these, as "5" or "7-9"."""
    missing = [(before + 1, after - 1) for before, after in pairwise([0, *sorted(numbers)]) if after - before > 1]
    return [str(first) if first == last else f"{first}-{last}" for first, last in missing]


def _unarchived(thread: ThreadSnapshot) -> list[str]:
    # A turn that waits to be resumed, for a person say, archives its messages at its end.
    asked = [index for index, message in enumerate(thread.state.messages) if isinstance(message, HumanMessage)]
    ended = thread.state.messages if thread.state.is_writable or not asked else thread.state.messages[: asked[-1]]
    # What was taken in and stands nowhere is a command, or an answer to one.
    aside = thread.state.chain["known"].keys() - thread.links - thread.above.keys()
    return [str(m.id) for m in ended if not is_empty(m) and m.id not in aside and m.id not in thread.rows.messages]


def _lost(thread: ThreadSnapshot) -> list[str]:
    """What has fallen out of the chain: the highest summaries, and messages, that nothing in the chain reaches.

    What has left the conversation is no part of it, and what is older than all that the chain reaches never was.
    Instructions that came again are in the chain once.
    """
    rows = thread.rows.messages
    first = min((rows[id_].seq for id_ in thread.reached if id_ in rows), default=None)
    instructed = any(id_ in rows and rows[id_].role == "system" for id_ in thread.links)
    roots = [
        _highest(id_, thread.above)
        for id_, row in rows.items()
        if not row.has_left and not (instructed and row.role == "system")
        if first is not None and row.seq > first and id_ not in thread.reached
    ]
    return [id_ for id_ in roots if id_ not in thread.links]


def _highest(id_: str, above: Mapping[str, str]) -> str:
    passed = {id_}
    while (higher := above.get(id_)) and higher not in passed:
        id_ = higher
        passed.add(id_)
    return id_


def _calls(thread: ThreadSnapshot) -> Mapping[FindingKind, Sequence[str]]:
    rows = list(thread.rows.messages.values())
    made = {call: None for row in rows for call in row.calls}
    results = {row.result_of: None for row in rows if row.result_of}
    still_open = next((row.calls for row in reversed(rows) if row.role != "tool"), ())
    return {
        "call without result": [call for call in made if call not in results and call not in still_open],
        "result without call": [call for call in results if call not in made],
    }


def _finding(kind: FindingKind, ids: tuple[str, ...], thread: ThreadSnapshot) -> Finding:
    wrong, action = _SENTENCES[kind]
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    waits = kind in OF_CHAIN and not thread.state.is_writable
    return Finding(
        kind=kind,
        ids=ids,
        problem=f"{wrong}: {', '.join(ids[:_NAMED])}{more}",
        action=_RESUME if waits else action,
        repairable=not waits and kind not in _HARMLESS,
        harmless=kind in _HARMLESS,
    )
