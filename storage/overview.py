"""`Overview`: what of a user's rows is looked at as a whole: beginnings, places, tokens, sizes, what waits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from ..state.records import Summary
from .archive_rows import ArchivedMessage, archived
from .sources import summaries_of
from .user_rows import UserRows


class Outlined(NamedTuple):
    """A summary without its text: the fields are those of `Summary`."""

    id: str
    level: int
    source_ids: Sequence[str]
    version: int


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

    async def page(
        self, thread_id: str, *, before: str | None, limit: int, with_left: bool = False
    ) -> list[ArchivedMessage]:
        """What `Archive.page` gives, without what summarized it: that reads all summaries of a thread."""
        values = {"thread_id": thread_id, "before": before, "limit": limit, "with_left": with_left}
        return archived(self._rows, reversed(await self._rows.fetch("archive.page", **values)), ())

    async def summaries_of(self, thread_id: str, ids: Collection[str]) -> list[Summary]:
        """The summaries of a thread that were made from any of these messages or summaries, the oldest first."""
        rows = await self._rows.fetch("summaries.above", thread_id=thread_id, ids=list(ids))
        return summaries_of(self._rows, [row for row in rows if row["left_at"] is None])

    async def after(self, thread_id: str, message_id: str, *, limit: int, with_left: bool = False) -> list[str]:
        """Ids of the messages of a thread that come after one of it, in their order; after none, from the first on."""
        values = {"thread_id": thread_id, "id": message_id, "limit": limit, "with_left": with_left}
        return [row["id"] for row in await self._rows.fetch("overview.after", **values)]

    async def messages(self, thread_id: str, ids: Collection[str]) -> list[ArchivedMessage]:
        """Those of these messages that the archive holds."""
        return archived(
            self._rows, await self._rows.fetch("summaries.messages", thread_id=thread_id, ids=list(ids)), ()
        )

    async def outline(self, thread_id: str) -> tuple[list[Outlined], dict[str, int]]:
        """The summaries of a thread without their texts, the oldest first; and by id, the number of each message.

        What has left the conversation, and what is damaged, is not among them.
        """
        values = {"thread_id": thread_id}
        rows, places = await self._rows.tuples(("overview.outline", values), ("overview.places", values))
        whole = [row for row in rows if isinstance(row[2], list) and None not in row]
        return list(map(Outlined._make, whole)), {id_: seq for id_, seq in places if isinstance(seq, int)}

    async def said_tokens(self, thread_ids: Collection[str], since: datetime) -> dict[str, list[tuple[datetime, int]]]:
        """By thread, when its messages were said, and the tokens of the whole conversation with each.

        What was said before `since` counts, and is one of them.
        """
        found: dict[str, list[tuple[datetime, int]]] = {}
        for row in await self._rows.fetch("overview.said_tokens", threads=list(thread_ids), since=since):
            so_far = found.setdefault(row["thread_id"], [])
            if row["created_at"] is not None:
                so_far.append((row["created_at"], int(row["tokens"] or 0) + (so_far[-1][1] if so_far else 0)))
        return found

    async def backlog(self) -> dict[str, int]:
        """What waits: messages and summaries to be embedded, messages to be read for facts, summaries to make again."""
        return dict((await self._rows.fetch("overview.backlog"))[0])

    async def sizes(self) -> list[Size]:
        """What is kept of the user, by kind."""
        return [Size(**row) for row in await self._rows.fetch("overview.sizes")]
