"""What a summary was made from: the tree of summaries under it, down to the raw messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from psycopg.rows import DictRow

from ..state.records import Summary
from .archive_rows import ArchivedMessage, archived
from .user_rows import UserRows

# UNION drops what was reached before, so that even a circle would end.
_TREE = """
WITH RECURSIVE tree AS (
    SELECT s.* FROM summaries AS s WHERE s.user_id = %(user_id)s AND s.thread_id = %(thread_id)s AND s.id = %(id)s
    UNION
    SELECT s.* FROM tree JOIN summaries AS s
      ON s.user_id = %(user_id)s AND s.thread_id = %(thread_id)s AND s.id = ANY(tree.source_ids)
)
SELECT * FROM tree
"""
_RAW = """
SELECT * FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s) ORDER BY seq
"""


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
        for source in self.sources:
            if isinstance(source, SummaryTree):
                yield from source._raw()
            else:
                yield source


async def summary_tree(rows: UserRows, thread_id: str, summary_id: str) -> SummaryTree | None:
    """The tree under a summary; None where the user has no such summary in this thread.

    Raises:
        StorageError: the database fails.
    """
    summaries = {row["id"]: row for row in await rows.fetch(_TREE, thread_id=thread_id, id=summary_id)}
    if summary_id not in summaries:
        return None
    ids = {id_ for row in summaries.values() for id_ in row["source_ids"]} - set(summaries)
    messages = {row["id"]: archived(row) for row in await rows.fetch(_RAW, thread_id=thread_id, ids=list(ids))}
    return _tree(summary_id, summaries, messages, frozenset())


def as_summary(row: DictRow) -> Summary:
    """The summary of a row of the table."""
    return Summary(**{name: row[name] for name in Summary.model_fields})


def _tree(
    id_: str, summaries: Mapping[str, DictRow], messages: Mapping[str, ArchivedMessage], above: frozenset[str]
) -> SummaryTree:
    row = summaries[id_]
    above = above | {id_}
    sources: list[SummaryTree | ArchivedMessage] = []
    missing: list[str] = []
    for source in row["source_ids"]:
        if source in messages:
            sources.append(messages[source])
        elif source in summaries and source not in above:
            sources.append(_tree(source, summaries, messages, above))
        else:
            missing.append(source)
    return SummaryTree(as_summary(row), tuple(sources), tuple(missing))
