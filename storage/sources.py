"""What a summary was made from: the tree of summaries under it, down to the raw messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..state.records import Fragment, Summary
from .archive_rows import ArchivedMessage, archived
from .readable import Rows, readable
from .user_rows import UserRows
from .values import Row

_DEPTH = 8
"""Levels of summaries that `newest_sources` goes down."""


class SummaryTree(NamedTuple):
    """A summary and its sources, in their order: messages, or the trees of the summaries it was made from.

    `missing` holds the ids of sources that the archive does not have.
    """

    summary: Summary
    sources: tuple[SummaryTree | ArchivedMessage, ...]
    missing: tuple[str, ...] = ()

    def messages(self) -> list[ArchivedMessage]:
        """The raw messages under this summary, in the order they were said, each once."""
        return sorted({message.id: message for message in self._raw()}.values(), key=lambda message: message.seq)

    def _raw(self) -> Iterator[ArchivedMessage]:
        # Not recursive: a summary that is made again from the one before it stands on a thousand others one day.
        waiting: list[SummaryTree | ArchivedMessage] = [self]
        while waiting:
            source = waiting.pop()
            if isinstance(source, SummaryTree):
                waiting.extend(source.sources)
            else:
                yield source


async def summary_tree(rows: UserRows, thread_id: str, summary_id: str) -> SummaryTree | None:
    """The tree under a summary; None where the user has no such summary in this thread.

    Raises:
        StorageError: the database fails.
    """
    found = await rows.fetch("sources.tree", thread_id=thread_id, id=summary_id)
    summaries = {summary.id: summary for summary in summaries_of(rows, found)}
    if summary_id not in summaries:
        return None
    ids = {id_ for summary in summaries.values() for id_ in summary.source_ids} - set(summaries)
    values = {"thread_id": thread_id, "ids": list(ids)}
    messages, all_summaries = await rows.fetch_each(("sources.raw", values), ("sources.of_all", values))
    return _tree(summary_id, summaries, {message.id: message for message in archived(rows, messages, all_summaries)})


async def newest_sources(rows: UserRows, thread_id: str, summary_id: str, limit: int) -> list[Fragment]:
    """The newest raw messages under a summary, in the order they were said; of a large or deep tree the newest part.

    Args:
        rows: the user's.
        thread_id: where the summary stands.
        summary_id: which one; where there is none, nothing is found.
        limit: messages, at most.

    Raises:
        StorageError: the database fails.
    """
    below: dict[str, None] = {}
    ids = [summary_id]
    for _ in range(_DEPTH):
        found = await rows.fetch("sources.next", thread_id=thread_id, ids=ids)
        sources = readable(rows, "summaries", found, lambda row: list(row["source_ids"]))
        ids = [id_ for some in sources for id_ in some if id_ not in below][-limit:]
        below.update(dict.fromkeys(ids))
        if not ids or len(below) >= 2 * limit:
            break
    messages = await rows.fetch("sources.newest", thread_id=thread_id, ids=list(below), limit=limit) if below else []
    return readable(rows, "messages", reversed(messages), lambda row: fragment(row, row["text"]))


def fragment(row: Row, content: str) -> Fragment:
    """The fragment of a row of a message.

    Raises:
        ValueError: a value is damaged.
    """
    return Fragment(content=content, **{name: row[name] for name in ("id", "role", "name", "seq", "created_at")})


def summaries_of(user: Rows, rows: Iterable[Row]) -> list[Summary]:
    """The summaries of rows of the table."""
    return readable(user, "summaries", rows, lambda row: Summary(**{name: row[name] for name in Summary.model_fields}))


def summary_row(thread_id: str, summary: Summary) -> dict[str, Any]:
    """The columns of a summary."""
    return {**summary.model_dump(), "thread_id": thread_id, "source_ids": list(summary.source_ids)}


def _tree(id_: str, summaries: Mapping[str, Summary], messages: Mapping[str, ArchivedMessage]) -> SummaryTree:
    """The tree under a summary, built from below; a source that would lead round in a circle counts as missing."""
    built: dict[str, SummaryTree] = {}
    begun: set[str] = set()
    waiting = [id_]
    while waiting:
        top = waiting[-1]
        below = [source for source in summaries[top].source_ids if source in summaries and source not in messages]
        if top not in begun:
            begun.add(top)
            waiting.extend(source for source in below if source not in begun)
            continue
        waiting.pop()
        if top not in built:
            found = [messages.get(source) or built.get(source) for source in summaries[top].source_ids]
            missing = [s for s, there in zip(summaries[top].source_ids, found, strict=True) if there is None]
            sources = tuple(source for source in found if source is not None)
            built[top] = SummaryTree(summaries[top], sources, tuple(missing))
    return built[id_]
