"""What a check of a thread reads of the archive, as it is at one moment; and the statements that put it right.

Nothing is deleted: rows are added, and flags, places and marks set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from langchain_core.messages import AnyMessage
from psycopg.rows import DictRow

from ..state.records import Summary
from .archive_rows import as_jsonb, message_rows
from .sources import as_summary
from .storage import Storage
from .term_keys import message_keys
from .user_rows import Snapshot, UserRows
from .vector_rows import CHUNK_CHARACTERS, chunks

EMBEDDED_ROLES: Final = frozenset({"user", "assistant", "agent"})
"""Roles whose messages are embedded."""

_STAND_IN: Final = "everthread_stand_in"
"""Marks what earlier versions archived in the place of a result that never came."""

_ASIDE: Final = -(10**12)
"""Places below this are free: messages stand there while they change places."""


class Kept(NamedTuple):
    """A message as the archive has it, without its text. `has_left` is whether it has left the conversation.

    `vectors` are those of the model that `embedded_with` names; `chunks` is how many there should be. `embedded_with`
    is None for one that is still to be embedded, and empty for one that never is.
    """

    id: str
    seq: int
    role: str
    active: bool
    chunk_id: int | None
    created_at: datetime
    embedded_with: str | None
    chunks: int
    vectors: int
    calls: tuple[str, ...]
    result_of: str | None
    has_left: bool
    stand_in: bool


class KeptSummary(NamedTuple):
    """A summary as the archive has it."""

    summary: Summary
    active: bool
    has_left: bool
    embedded_with: str | None
    chunks: int
    vectors: int


class ThreadRows(NamedTuple):
    """All that the archive has of a thread: messages by id in their order, summaries by id, the oldest first.

    `facts` has the id of each fact and pin that was found in the thread, with the message it was found in.
    """

    messages: Mapping[str, Kept]
    summaries: Mapping[str, KeptSummary]
    facts: Sequence[tuple[str, str]]


class Placed(NamedTuple):
    """A message that is to be archived in a certain place. `old` ones were read for facts before."""

    message: AnyMessage
    seq: int
    created_at: datetime | None
    old: bool


class Inspection:
    """Reads and mends the rows of one user.

    Args:
        database: where they are.
        user_id: whose.
    """

    def __init__(self, database: Storage, user_id: str) -> None:
        self._rows = UserRows(database, user_id)

    async def read(self, thread_id: str) -> ThreadRows:
        """All rows of a thread, as they are at one moment.

        Raises:
            StorageError: the database fails.
        """

        async def work(rows: Snapshot) -> ThreadRows:
            counts: dict[tuple[str, str, str], int] = {}
            async for batch in rows.batches("inspection.vectors", thread_id=thread_id):
                counts.update({(row["source_type"], row["source_id"], row["model"]): row["n"] for row in batch})
            messages: list[Kept] = []
            async for batch in rows.batches("inspection.messages", thread_id=thread_id):
                messages += await asyncio.to_thread(lambda found: [_kept(row, counts) for row in found], batch)
            summaries: list[KeptSummary] = []
            async for batch in rows.batches("inspection.summaries", thread_id=thread_id):
                summaries += [_kept_summary(row, counts) for row in batch]
            facts = [row async for batch in rows.batches("inspection.facts", thread_id=thread_id) for row in batch]
            return ThreadRows(
                {message.id: message for message in messages},
                {kept.summary.id: kept for kept in summaries},
                [(row["id"], row["source_id"]) for row in facts],
            )

        return await self._rows.snapshot(work)

    async def add(self, thread_id: str, placed: Sequence[Placed]) -> None:
        """Archive messages in their places; one whose place is taken meanwhile goes to the end.

        Raises:
            StorageError: the database fails; then none is there.
        """
        if not placed:
            return
        new = await asyncio.to_thread(_new_rows, self._rows.user_id, thread_id, placed)
        values = {"thread_id": thread_id, "rows": as_jsonb(new)}
        old = {"thread_id": thread_id, "ids": [str(place.message.id) for place in placed if place.old]}
        await self._rows.transaction(
            ("inspection.lock", values), ("transfer.add_messages", values), ("inspection.read_for_facts", old)
        )

    async def flag(self, thread_id: str, ids: Collection[str], *, active: bool) -> None:
        """Set whether these messages and summaries stand on their own."""
        values = {"thread_id": thread_id, "ids": list(ids), "active": active}
        await self._rows.transaction(("inspection.flag_messages", values), ("inspection.flag_summaries", values))

    async def chunk(self, thread_id: str, ids: Mapping[int | None, Collection[str]]) -> None:
        """Set by chunk id, or None for none, to which chunk messages belong."""
        statements = [
            ("inspection.chunk", {"thread_id": thread_id, "chunk_id": chunk, "ids": list(of)})
            for chunk, of in ids.items()
        ]
        await self._rows.transaction(*statements)

    async def move(self, thread_id: str, places: Mapping[str, int]) -> None:
        """Give messages other places, in one transaction."""
        aside = [
            ("inspection.place", {"thread_id": thread_id, "id": id_, "seq": _ASIDE - n})
            for n, id_ in enumerate(places, start=1)
        ]
        there = [("inspection.place", {"thread_id": thread_id, "id": id_, "seq": seq}) for id_, seq in places.items()]
        await self._rows.transaction(("inspection.lock", {"thread_id": thread_id}), *aside, *there)

    async def queue(self, thread_id: str, ids: Collection[str]) -> None:
        """Mark messages and summaries as still to be embedded."""
        values = {"thread_id": thread_id, "ids": list(ids)}
        await self._rows.transaction(("inspection.queue_messages", values), ("inspection.queue_summaries", values))


def _kept(row: DictRow, counts: Mapping[tuple[str, str, str], int]) -> Kept:
    data = row["message"]["data"]
    calls = [call.get("id") for name in ("tool_calls", "invalid_tool_calls") for call in data.get(name) or ()]
    return Kept(
        **{name: row[name] for name in ("id", "seq", "role", "active", "chunk_id", "created_at", "embedded_with")},
        chunks=_chunks(row) if row["role"] in EMBEDDED_ROLES else 0,
        vectors=counts.get(("message", row["id"], row["embedded_with"] or ""), 0),
        calls=tuple(str(id_) for id_ in calls if id_),
        result_of=data.get("tool_call_id"),
        has_left=row["left_at"] is not None,
        stand_in=_STAND_IN in (data.get("additional_kwargs") or {}),
    )


def _kept_summary(row: DictRow, counts: Mapping[tuple[str, str, str], int]) -> KeptSummary:
    return KeptSummary(
        as_summary(row),
        row["active"],
        row["left_at"] is not None,
        row["embedded_with"],
        _chunks({"text": row["content"], "name": None}),
        counts.get(("summary", row["id"], row["embedded_with"] or ""), 0),
    )


def _chunks(row: Mapping[str, Any]) -> int:
    """How many vectors a text has; short texts need not be cut to know it."""
    text = row["text"].strip()
    return int(bool(text)) if len(text) <= CHUNK_CHARACTERS else len(chunks(dict(row)))


def _new_rows(user_id: str, thread_id: str, placed: Sequence[Placed]) -> list[dict[str, Any]]:
    rows = message_rows(user_id, [place.message for place in placed])
    for row, place in zip(rows, placed, strict=True):
        row.update(thread_id=thread_id, seq=place.seq, active=True, chunk_id=None, left_at=None)
        if place.created_at is not None:
            row["created_at"] = place.created_at.isoformat()
            row["term_keys"] = message_keys(user_id, row["text"], place.created_at)
    return rows
