"""What is wrong with a thread, found by comparing its chain with its archive. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from ..state.chain import Chain
from ..state.health_records import Finding, FindingKind
from ..state.messages import is_empty
from ..state.records import Summary
from ..state.tool_calls import open_calls
from ..storage.inspection import EMBEDDED_ROLES, Kept, KeptSummary, ThreadRows
from .sequence import gaps, out_of_order

_NAMED: Final = 5
"""Ids that a sentence names; of more, it gives the number."""

_RESUME: Final = (
    "not while a turn of the thread waits to be resumed: resume it, or send the next message, and repair then"
)


@dataclass(frozen=True)
class Seen:
    """A thread as it was found.

    Attributes:
        messages: the `messages` of its state.
        chain: the `chain` of its state; None where it has none, as after an import.
        rows: what the archive has.
        changed: ids of messages of the state that the archive has with another content.
        writable: whether the chain can be written.
        own_vectors: whether vectors are kept in our own table.
    """

    messages: Sequence[AnyMessage]
    chain: Chain | None
    rows: ThreadRows
    changed: Collection[str] = ()
    writable: bool = True
    own_vectors: bool = True

    @cached_property
    def archived(self) -> Mapping[str, Kept]:
        """What was said, by id, as the archive has it."""
        return self.rows.messages

    @cached_property
    def links(self) -> Sequence[str]:
        """The ids of the chain, in its order."""
        return [link["id"] for link in self.chain["links"]] if self.chain is not None else []

    @cached_property
    def standing(self) -> Sequence[str]:
        """Ids of the messages and summaries that stand in the chain on their own."""
        return [link["id"] for link in self.chain["links"] if not link.get("kept")] if self.chain is not None else []

    @cached_property
    def summaries(self) -> Mapping[str, Summary]:
        """All summaries of the archive, by id."""
        return {id_: kept.summary for id_, kept in self.rows.summaries.items()}

    @cached_property
    def above(self) -> Mapping[str, Sequence[str]]:
        """By id, the summaries that stand for it: those that were made from it, and have not left the conversation."""
        found: dict[str, list[str]] = defaultdict(list)
        for kept in self.rows.summaries.values():
            for source in kept.summary.source_ids if not kept.has_left else ():
                found[source].append(kept.summary.id)
        return dict(found)

    @cached_property
    def reached(self) -> set[str]:
        """Ids of all that stands in the chain on its own, or below a summary in it."""
        return self.below(self.standing)

    def below(self, ids: Iterable[str]) -> set[str]:
        """These ids, and those of all below the summaries among them."""
        found: set[str] = set()
        waiting = list(ids)
        while waiting:
            if (id_ := waiting.pop()) not in found:
                found.add(id_)
                waiting.extend(self.summaries[id_].source_ids if id_ in self.summaries else ())
        return found


def check(seen: Seen) -> list[Finding]:
    """All that is wrong with a thread, in the order in which it is to be repaired."""
    return [finding for one in _CHECKS for finding in one(seen)]


def lost(seen: Seen) -> list[str]:
    """What has fallen out of the chain: the highest summaries, and messages, that nothing in the chain reaches.

    What has left the conversation is no part of it, and what is older than all that the chain reaches never was.
    Instructions that came again are in the chain once.
    """
    reached = [seen.archived[id_].seq for id_ in seen.reached if id_ in seen.archived]
    if seen.chain is None or not reached:
        return []
    roots: dict[str, None] = {}
    instructed = any(id_ in seen.archived and seen.archived[id_].role == "system" for id_ in seen.links)
    for id_, kept in seen.archived.items():
        if kept.stand_in or kept.has_left or (instructed and kept.role == "system"):
            continue
        if id_ not in seen.reached and kept.seq > min(reached):
            roots.setdefault(_highest(id_, seen))
    return [id_ for id_ in roots if id_ not in seen.links]


def _highest(id_: str, seen: Seen) -> str:
    passed = {id_}
    while (above := seen.above.get(id_)) and above[-1] not in passed:
        id_ = above[-1]
        passed.add(id_)
    return id_


def _unarchived(seen: Seen) -> Iterator[Finding]:
    # A turn that waits to be resumed, for a person say, archives its messages at its end.
    asked = [place for place, message in enumerate(seen.messages) if isinstance(message, HumanMessage)]
    ended = seen.messages if seen.writable or not asked else seen.messages[: asked[-1]]
    # What was taken in and stands nowhere is a command, or an answer to one.
    aside = set(seen.chain["known"]) - set(seen.links) - seen.above.keys() if seen.chain is not None else set()
    said = [str(m.id) for m in ended if not is_empty(m) and m.id not in seen.archived and m.id not in aside]
    yield from _found(
        "message not archived", said, "{} of the state {is} not in the archive", "archived from the state"
    )
    levels = {link["id"] for link in seen.chain["links"] if "level" in link} if seen.chain is not None else set()
    yield from _found(
        "summary not archived", [id_ for id_ in seen.links if id_ in levels - seen.summaries.keys()],
        "{} of the chain {is} not in the archive", "its sources stand in its place again", what="summary",
        writes_chain=True, seen=seen,
    )  # fmt: skip


def _changed(seen: Seen) -> Iterator[Finding]:
    yield from _found(
        "message changed", seen.changed, "{} of the state {is} in the archive with another content",
        "the archive takes that of the state, and keeps the other as having left", seen=seen,
    )  # fmt: skip


def _missing(seen: Seen) -> Iterator[Finding]:
    known = {*seen.archived, *seen.summaries, *(str(message.id) for message in seen.messages)}
    sources = [id_ for summary in seen.summaries.values() for id_ in summary.source_ids if id_ not in known]
    looked_for = "looked for in older states of the thread, and archived again where found there"
    yield from _found("source missing", sources, "{} of a summary {is} not in the archive", looked_for, what="source")
    empty = gaps([kept.seq for kept in seen.archived.values()])
    yield from _found(
        "message missing", empty, "{} of the archive {is} not there: messages are numbered without gaps", looked_for,
        what="number",
    )  # fmt: skip
    facts = [(fact, source) for fact, source in seen.rows.facts if source and source not in known]
    yield from _found(
        "fact without source", [fact for fact, _ in facts], "{} {has} no source: its message is not in the archive",
        looked_for, what="fact or pin",
    )  # fmt: skip


def _flags(seen: Seen) -> Iterator[Finding]:
    wrong = [kept.id for kept in seen.archived.values() if not kept.has_left and kept.active == (kept.id in seen.above)]
    for id_, kept in seen.rows.summaries.items():
        if not kept.has_left and kept.active == (id_ in seen.above):
            wrong.append(id_)
    yield from _found("active flag", wrong, "{} {has} the wrong active flag", "set right", what="message or summary")
    said = [kept for kept in seen.archived.values() if not kept.has_left]
    chunks = [kept.id for kept in said if (kept.chunk_id is None) == (kept.id in seen.above)]
    yield from _found("chunk id", chunks, "{} {has} a chunk and no summary, or a summary and no chunk", "set right")


def _chain(seen: Seen) -> Iterator[Finding]:
    yield from _found(
        "lost from chain", lost(seen), "{} {is} neither in the chain nor in a summary of it", "put back in its place",
        what="message or summary", writes_chain=True, seen=seen,
    )  # fmt: skip
    kept = [link["id"] for link in seen.chain["links"] if link.get("kept")] if seen.chain is not None else []
    yield from _found(
        "mark without summary", [id_ for id_ in kept if id_ not in seen.above],
        "{} {is} marked as summarized, and no summary has it",
        "the mark is taken away, so that it stands in the chain as it was said", writes_chain=True, seen=seen,
    )  # fmt: skip


def orders(seen: Seen) -> Iterator[list[str]]:
    """The messages that must stand in the archive in this order: of the state, and of each summary.

    Results of tools are not among them: a late one is archived late, and stands behind its call all the same.
    """
    said = [str(message.id) for message in seen.messages]
    for ids in (said, *(summary.source_ids for summary in seen.summaries.values())):
        yield [id_ for id_ in ids if id_ in seen.archived and seen.archived[id_].role != "tool"]


def _order(seen: Seen) -> Iterator[Finding]:
    wrong = {id_: None for ids in orders(seen) for id_ in out_of_order({id_: seen.archived[id_].seq for id_ in ids})}
    wrong.update((kept.id, None) for kept in seen.archived.values() if kept.seq < 1)
    yield from _found("order", wrong, "{} {has} a number out of the order in which it was said", "numbered anew")


def not_embedded(seen: Seen) -> list[str]:
    """What should have a vector, has not all that it should have, and is not marked as still to be embedded."""
    said = {id_: kept for id_, kept in seen.archived.items() if not kept.has_left}
    kept = {id_: message for id_, message in said.items() if message.role in EMBEDDED_ROLES}
    both: dict[str, Kept | KeptSummary] = {**kept, **seen.rows.summaries}
    return [
        id_
        for id_, row in both.items()
        if row.chunks and row.embedded_with is not None
        and (row.embedded_with == "" or (seen.own_vectors and row.vectors < row.chunks))
    ]  # fmt: skip


def _vectors(seen: Seen) -> Iterator[Finding]:
    yield from _found(
        "not embedded", not_embedded(seen), "{} {has} no vector, or not all, and {is} not queued for one",
        "queued and embedded", what="message or summary",
    )  # fmt: skip


def _calls(seen: Seen) -> Iterator[Finding]:
    results = {kept.result_of for kept in seen.archived.values()}
    results |= {m.tool_call_id for m in seen.messages if isinstance(m, ToolMessage)}
    called = {call for kept in seen.archived.values() for call in kept.calls}
    called |= {str(c["id"]) for m in seen.messages if isinstance(m, AIMessage) for c in m.tool_calls}
    still_open = {str(call["id"]) for call in open_calls(seen.messages)}
    last = next((kept for kept in reversed(list(seen.archived.values())) if kept.role != "tool"), None)
    still_open |= set(last.calls) if last is not None else set()
    without = [call for kept in seen.archived.values() for call in kept.calls if call not in results | still_open]
    yield from _found(
        "call without result", without, "{} {has} no result", "prompts say so in its place",
        what="tool call", harmless=True,
    )  # fmt: skip
    orphans = [
        str(kept.result_of) for kept in seen.archived.values() if kept.result_of and kept.result_of not in called
    ]
    yield from _found(
        "result without call", orphans, "{} {has} a result and was never made", "prompts leave it out",
        what="tool call", harmless=True,
    )  # fmt: skip


_CHECKS: Final[Sequence[Callable[[Seen], Iterator[Finding]]]] = (
    _unarchived, _missing, _order, _changed, _flags, _chain, _vectors, _calls,
)  # fmt: skip


def _found(
    kind: FindingKind,
    ids: Iterable[object],
    problem: str,
    action: str,
    *,
    what: str = "message",
    writes_chain: bool = False,
    harmless: bool = False,
    seen: Seen | None = None,
) -> Iterator[Finding]:
    """The finding of one kind, if there is anything of it. In `problem`, {} is what was found."""
    named = tuple(dict.fromkeys(map(str, ids)))
    if not named:
        return
    one = len(named) == 1
    many = {"summary": "summaries", "message or summary": "messages or summaries", "fact or pin": "facts or pins"}
    count = f"{len(named)} {what if one else many.get(what, f'{what}s')}"
    sentence = problem.replace("{is}", "is" if one else "are").replace("{has}", "has" if one else "have")
    rest = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    possible = not writes_chain or seen is None or seen.writable
    yield Finding(
        kind=kind,
        ids=named,
        problem=f"{sentence.replace('{}', count)}: {', '.join(named[:_NAMED])}{rest}",
        action=action if possible else _RESUME,
        repairable=possible and not harmless,
        harmless=harmless,
    )
