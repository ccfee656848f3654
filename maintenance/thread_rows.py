"""What a check of a thread reads of the archive, as it is at one moment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from psycopg.rows import DictRow

from ..storage.user_rows import Snapshot, UserRows
from ..storage.vector_rows import chunks

_EMBEDDED_ROLES: Final = frozenset({"user", "assistant", "agent"})


class MessageRow(NamedTuple):
    """A message of the archive: ids of the calls it makes, or of the call it is the result of, but not its text."""

    seq: int
    role: str
    created_at: datetime
    has_left: bool
    calls: tuple[str, ...]
    result_of: str | None


class SummaryRow(NamedTuple):
    """What a summary of the archive was made from."""

    source_ids: tuple[str, ...]
    has_left: bool


class ThreadRows(NamedTuple):
    """What the archive has of a thread: messages by id in their order, summaries by id, the oldest first.

    `facts` has the id of each fact and pin, with that of the message it was found in; `unembedded` ids of what lacks
    vectors and is not queued for them.
    """

    messages: Mapping[str, MessageRow]
    summaries: Mapping[str, SummaryRow]
    facts: Sequence[tuple[str, str]]
    unembedded: Sequence[str]


async def read_rows(rows: UserRows, thread_id: str, *, own_vectors: bool) -> ThreadRows:
    """All rows of a thread.

    Args:
        rows: of its user.
        thread_id: which.
        own_vectors: whether vectors are kept in our own table, where they can be counted.

    Raises:
        StorageError: the database fails.
    """

    async def work(snapshot: Snapshot) -> ThreadRows:
        counts: dict[tuple[str, str | None], int] = {}
        messages: dict[str, MessageRow] = {}
        summaries: dict[str, SummaryRow] = {}
        unembedded: list[str] = []
        if own_vectors:
            async for batch in snapshot.batches("doctor.vectors", thread_id=thread_id):
                counts |= {(row["source_id"], row["model"]): row["n"] for row in batch}

        def lacking(batch: Sequence[DictRow]) -> list[str]:
            return [row["id"] for row in batch if _lacks_vectors(row, counts if own_vectors else None)]

        async for batch in snapshot.batches("doctor.messages", thread_id=thread_id):
            messages |= {row["id"]: _message(row) for row in batch}
            unembedded += await asyncio.to_thread(lacking, batch)
        async for batch in snapshot.batches("doctor.summaries", thread_id=thread_id):
            summaries |= {row["id"]: SummaryRow(tuple(row["source_ids"]), row["left_at"] is not None) for row in batch}
            unembedded += await asyncio.to_thread(lacking, batch)
        facts = [row async for batch in snapshot.batches("doctor.facts", thread_id=thread_id) for row in batch]
        return ThreadRows(messages, summaries, [(row["id"], row["source_id"]) for row in facts], unembedded)

    return await rows.snapshot(work)


def _message(row: DictRow) -> MessageRow:
    data = row["message"]["data"]
    calls = [call.get("id") for name in ("tool_calls", "invalid_tool_calls") for call in data.get(name) or ()]
    return MessageRow(
        row["seq"],
        row["role"],
        row["created_at"],
        row["left_at"] is not None,
        tuple(str(id_) for id_ in calls if id_),
        data.get("tool_call_id"),
    )


def _lacks_vectors(row: DictRow, counts: Mapping[tuple[str, str | None], int] | None) -> bool:
    """Whether it should have vectors; `embedded_with` is None where it is queued for them, empty where it never was."""
    model = row["embedded_with"]
    if model is None or row["left_at"] is not None or row["role"] not in _EMBEDDED_ROLES:
        return False
    missing = 0 if counts is None else len(chunks(row)) - counts.get((row["id"], model), 0)
    return missing > 0 or (model == "" and bool(row["text"].strip()))
