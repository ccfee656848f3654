"""`Overview`: what of a user's rows is looked at as a whole: beginnings, places, tokens, sizes, what waits."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from psycopg.rows import DictRow

from .readable import readable
from .user_rows import UserRows


class Outlined(NamedTuple):
    """A summary without its text: the fields are those of `Summary`; `left_at` is when it left the conversation."""

    id: str
    level: int
    source_ids: tuple[str, ...]
    covers: int
    tokens: int
    version: int
    method: str
    created_at: datetime
    left_at: datetime | None


class Size(NamedTuple):
    """How much of a kind is kept: rows, and about how many bytes."""

    kind: str
    number: int
    bytes: int


class Overview:
    """The rows of one user, to be looked at.

    Args:
        rows: the user's.
    """

    def __init__(self, rows: UserRows) -> None:
        self._rows = rows

    async def name(self, thread_id: str) -> str | None:
        """What a thread is called; None where it has no name."""
        rows = await self._rows.fetch("overview.name", thread_id=thread_id)
        return rows[0]["name"] if rows else None

    async def openings(self, thread_ids: Collection[str], *, characters: int) -> dict[str, str]:
        """By thread, how the first message of the user in it begins."""
        rows = await self._rows.fetch("overview.openings", ids=list(thread_ids), characters=characters)
        return {row["thread_id"]: row["text"] for row in rows if row["text"]}

    async def after(self, thread_id: str, message_id: str, *, limit: int, with_left: bool = False) -> list[str]:
        """Ids of the messages of a thread that come after one of it, in their order."""
        values = {"thread_id": thread_id, "id": message_id, "limit": limit, "with_left": with_left}
        return [row["id"] for row in await self._rows.fetch("overview.after", **values)]

    async def outline(self, thread_id: str) -> list[Outlined]:
        """All summaries of a thread without their texts, the oldest first."""
        rows = await self._rows.fetch("overview.outline", thread_id=thread_id)

        def made(row: DictRow) -> Outlined:
            return Outlined(**{**row, "source_ids": tuple(row["source_ids"])})

        return readable(self._rows, "summaries", rows, made)

    async def places(self, thread_id: str) -> dict[str, int]:
        """By id, the number of each message of a thread."""
        rows = await self._rows.fetch("overview.places", thread_id=thread_id)
        return {row["id"]: row["seq"] for row in rows}

    async def said_tokens(self, thread_ids: Collection[str]) -> dict[str, list[tuple[datetime, int]]]:
        """By thread, when its messages were said, and the tokens of the whole conversation with each."""
        found: dict[str, list[tuple[datetime, int]]] = {}
        for row in await self._rows.fetch("overview.said_tokens", threads=list(thread_ids)):
            so_far = found.setdefault(row["thread_id"], [])
            so_far.append((row["created_at"], row["tokens"] + (so_far[-1][1] if so_far else 0)))
        return found

    async def backlog(self) -> dict[str, int]:
        """What waits: messages and summaries to be embedded, messages to be read for facts, summaries to make again."""
        return dict((await self._rows.fetch("overview.backlog"))[0])

    async def sizes(self) -> list[Size]:
        """What is kept of the user, by kind."""
        return [Size(**row) for row in await self._rows.fetch("overview.sizes")]
