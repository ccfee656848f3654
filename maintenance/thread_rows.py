"""What a check of a thread reads of the archive, as it is at one moment."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ..storage.archive_rows import check_message
from ..storage.readable import readable
from ..storage.user_rows import Snapshot, UserRows
from ..storage.values import Row
from ..storage.vector_rows import chunks

_EMBEDDED_ROLES: Final = frozenset({"user", "assistant", "agent"})


class CheckedMessage(NamedTuple):
    """A message of the archive: ids of the calls it makes, or of the call it is the result of, but not its text."""

    seq: int
    role: str
    created_at: datetime
    has_left: bool
    calls: Sequence[str]
    result_of: str | None


class SummaryRow(NamedTuple):
    """What a summary of the archive was made from."""

    source_ids: Sequence[str]
    has_left: bool


class ThreadRows(NamedTuple):
    """What the archive has of a thread: messages by id in their order, summaries by id, the oldest first.

    `facts` has the id of each fact and pin, with that of the message it was found in; `unembedded` ids of what lacks
    vectors and is not queued for them; `forgotten` the numbers of messages that the user wanted forgotten.
    """

    messages: Mapping[str, CheckedMessage]
    summaries: Mapping[str, SummaryRow]
    facts: Sequence[tuple[str, str]]
    unembedded: Sequence[str]
    forgotten: Sequence[int]


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
        messages: dict[str, CheckedMessage] = {}
        summaries: dict[str, SummaryRow] = {}
        facts: list[tuple[str, str]] = []
        lacking: list[str] = []
        counts: Counter[tuple[str, str]] | None = Counter() if own_vectors else None
        async for batch in snapshot.batches("doctor.vectors", thread_id=thread_id):
            if counts is not None:
                counts.update({(row["source_id"], row["model"]): row["n"] for row in batch})
        async for batch in snapshot.batches("doctor.messages", thread_id=thread_id):
            messages.update(readable(rows, "messages", batch, lambda row: (row["id"], _message(row))))
            lacking += await asyncio.to_thread(_unembedded, batch, counts)
        async for batch in snapshot.batches("doctor.summaries", thread_id=thread_id):
            summaries.update(readable(rows, "summaries", batch, lambda row: (row["id"], _summary(row))))
            lacking += await asyncio.to_thread(_unembedded, batch, counts)
        async for batch in snapshot.batches("doctor.facts", thread_id=thread_id):
            facts += [(row["id"], row["source_id"]) for row in batch]
        forgotten: list[int] = []
        async for batch in snapshot.batches("doctor.forgotten_numbers", thread_id=thread_id):
            forgotten += [row["seq"] for row in batch if isinstance(row["seq"], int)]
        return ThreadRows(messages, summaries, facts, lacking, forgotten)

    return await rows.snapshot(work)


def _summary(row: Row) -> SummaryRow:
    return SummaryRow(list(row["source_ids"]), row["left_at"] is not None)


def _message(row: Row) -> CheckedMessage:
    check_message(row["seq"], row["role"], row["created_at"])
    data = row["message"]["data"]
    calls = [call.get("id") for name in ("tool_calls", "invalid_tool_calls") for call in data.get(name) or ()]
    return CheckedMessage(
        row["seq"], row["role"], row["created_at"], row["left_at"] is not None,
        [str(id_) for id_ in calls if id_], data.get("tool_call_id"),
    )  # fmt: skip


def _unembedded(batch: Sequence[Row], counts: Counter[tuple[str, str]] | None) -> list[str]:
    """What should have vectors; `embedded_with` is None where it is queued for them, empty where it never was."""
    return [
        row["id"]
        for row in batch
        if row["embedded_with"] is not None and row["left_at"] is None and row["role"] in _EMBEDDED_ROLES
        if (wanted := len(chunks(row)))
        if not row["embedded_with"] or (counts is not None and counts[row["id"], row["embedded_with"]] < wanted)
    ]
