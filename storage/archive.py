"""`Archive`: every message and every summary, kept for ever. Compression marks, it never deletes.

Each write is an upsert on a stable id, so that doing it twice changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from langchain_core.messages import BaseMessage

from ..state.errors import ThreadOwnershipError
from ..state.messages import clean_text
from ..state.records import Fragment, Hit, Place, Summary, now
from ..state.threads import former_id, may_have
from ..state.threads import thread_id as id_of
from .archive_rows import (
    ArchivedMessage,
    Offered,
    Standing,
    archived,
    as_jsonb,
    changed_message,
    message_rows,
    messages_by_id,
    numbers_of,
    place_of,
)  # fmt: skip
from .exchanges import Exchanges, exchanges
from .readable import readable
from .sources import SummaryTree, newest_sources, summaries_of, summary_row, summary_tree
from .user_rows import UserRows
from .values import Row

__all__ = ["Archive", "ArchivedMessage", "Offered", "Standing", "SummaryTree"]


class Archive:
    """The messages and summaries of one user.

    Args:
        rows: the user's.
    """

    def __init__(self, rows: UserRows) -> None:
        self._rows = rows

    async def own_thread(self, thread_id: str, name: str | None = None) -> None:
        """Claim a new thread for the user, or check that it is theirs; give it the name, if one is given.

        Raises:
            ThreadOwnershipError: the thread belongs to somebody else, or its id is made of a name for somebody else.
        """
        values, rows = {"thread_id": thread_id, "name": name}, list[Row]()
        if may_have(thread_id, self._rows.user_id):
            rows = await self._rows.fetch("archive.owner", thread_id=thread_id) if name is None else rows
            rows = rows or await self._rows.transaction(("archive.own", values), ("archive.owner", values))
        if not rows or not rows[0]["mine"]:
            raise _foreign(thread_id)

    async def refuse_foreign(self, thread_id: str) -> None:
        """Refuse a thread that belongs to somebody else; one that is nobody's passes, and stays nobody's.

        Raises:
            ThreadOwnershipError: the thread belongs to somebody else.
        """
        rows = await self._rows.across("archive.owner", thread_id=thread_id)
        if rows and not rows[0]["mine"]:
            raise _foreign(thread_id)

    async def thread_named(self, name: str) -> str:
        """The id of the user's thread of this name or id; that of a new one where there is none.

        Args:
            name: the name that the command line gave it, or the id that a program gave it, which need be no UUID.
        """
        name, user_id = clean_text(name), self._rows.user_id
        new = id_of(name, user_id)
        ids = [new, former_id(name, user_id), name]
        known = {row["thread_id"] for row in await self._rows.fetch("archive.named", ids=ids)}
        return next((id_ for id_ in ids if id_ in known), new)

    async def has_thread(self, thread_id: str) -> bool:
        """Whether there is such a thread, and it is the user's."""
        rows = await self._rows.across("archive.owner", thread_id=thread_id)
        return bool(rows and rows[0]["mine"])

    async def add_messages(self, thread_id: str, messages: Sequence[BaseMessage]) -> list[str]:
        """Archive messages in their order; returns the ids that were new. One that is there already is left alone.

        Raises:
            InputError: a message has no id, or one with its id and another content is there; then none is archived.
        """
        offered = await self._add(thread_id, messages, keep_rest=False)
        if offered.changed:
            raise changed_message(offered.changed)
        return list(offered.added)

    async def offer_messages(
        self, thread_id: str, messages: Sequence[BaseMessage], *, importance: Mapping[str, float] | None = None
    ) -> Offered:
        """Archive messages as `add_messages` does, but for those whose id is taken by another content.

        Args:
            thread_id: which thread.
            messages: in their order.
            importance: by id, in [0, 1]; 0.5 where it is not given.

        Raises:
            InputError: a message has no id, or two of them share one.
        """
        return await self._add(thread_id, messages, keep_rest=True, importance=importance or {})

    async def refuse_changed(self, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        """Refuse messages whose ids are taken by another content; writes nothing.

        Raises:
            InputError: there is one.
        """
        if changed := await self.changed_ids(thread_id, messages):
            raise changed_message(changed)

    async def changed_ids(self, thread_id: str, messages: Sequence[BaseMessage]) -> list[str]:
        """Ids of those of these messages that the archive has with another content; writes nothing.

        Raises:
            InputError: a message has no id, or two of them share one.
        """
        rows = as_jsonb(await asyncio.to_thread(message_rows, self._rows.user_id, messages))
        return [row["id"] for row in await self._rows.fetch("archive.find_changed", thread_id=thread_id, rows=rows)]

    async def _add(
        self,
        thread_id: str,
        messages: Sequence[BaseMessage],
        *,
        keep_rest: bool,
        importance: Mapping[str, float] = MappingProxyType({}),
    ) -> Offered:
        if not messages:
            return Offered((), ())
        made = await asyncio.to_thread(message_rows, self._rows.user_id, messages)
        rows = [{**row, "importance": importance.get(row["id"], 0.5)} for row in made]
        values = {"thread_id": thread_id, "name": None}
        found = await self._rows.transaction(
            ("archive.lock_thread", values),
            ("archive.own", values),
            ("archive.add_messages", {**values, "rows": as_jsonb(rows), "keep_rest": keep_rest}),
            fenced=thread_id,
        )
        new, changed = (tuple(row["id"] for row in found if bool(row["changed"]) is which) for which in (False, True))
        return Offered(new, changed)

    async def add_summary(self, thread_id: str, summary: Summary) -> Summary:
        """Store a summary: it stands for its sources from now on, messages or summaries of any level.

        Returns:
            The one that is stored: where it was there already, perhaps in other words, that one.
        """
        values = summary_row(thread_id, summary)
        there = {"thread_id": thread_id, "ids": [summary.id]}
        rows = await self._rows.transaction(
            ("archive.add_summary", values), ("summaries.some", there), fenced=thread_id
        )
        return next(iter(summaries_of(self._rows, rows)), summary)

    async def messages(self, thread_id: str) -> list[ArchivedMessage]:
        """All messages of a thread, oldest first."""
        where = {"thread_id": thread_id}
        rows, summaries = await self._rows.fetch_each(("archive.messages", where), ("sources.of_all", where))
        return archived(self._rows, rows, summaries)

    async def page(
        self, thread_id: str, *, before: str | None = None, limit: int = 50, with_left: bool = False
    ) -> list[ArchivedMessage]:
        """The newest messages of a thread before a message of it, in the order they were said.

        Args:
            thread_id: which.
            before: the id of the message; None, or an unknown one, for the end of the thread.
            limit: messages, at most.
            with_left: whether those that have left the conversation are among them.
        """
        values = {"thread_id": thread_id, "before": before, "limit": limit, "with_left": with_left}
        rows, summaries = await self._rows.fetch_each(("archive.page", values), ("sources.of_all", values))
        return archived(self._rows, reversed(rows), summaries)

    async def older_ids(self, thread_id: str, ids: Iterable[str], first: str | None) -> set[str]:
        """Those of the ids that the conversation has from before a message of it."""
        if first is None:
            return set()
        rows = await self._rows.fetch("archive.older", thread_id=thread_id, ids=list(ids), first=first)
        return {row["id"] for row in rows}

    async def last_id(self, thread_id: str) -> str | None:
        """The id of the newest message of the conversation; None where nothing was said."""
        rows = await self._rows.fetch("archive.last", thread_id=thread_id)
        return rows[0]["id"] if rows else None

    async def end_and_texts(
        self, thread_id: str, summaries: Sequence[str], others: Sequence[str] = (), messages: Sequence[str] = ()
    ) -> tuple[str | None, dict[str, Summary | BaseMessage], dict[str, Place]]:
        """The id of the newest message of the conversation, by id what there is of `summaries` and `others`, and where
        the messages among these stand, and `messages`."""
        values = {"thread_id": thread_id, "ids": [*summaries, *others]}
        whole, placed = ({"thread_id": thread_id, "ids": [*others, *more]} for more in ((), messages))
        last, *found, places = await self._rows.fetch_each(
            ("archive.last", values), ("summaries.some", values),
            *([("archive.whole", whole)] if others else []), ("archive.places", placed),
        )  # fmt: skip
        stand = dict(readable(self._rows, "messages", places, place_of))
        return last[0]["id"] if last else None, self._by_id(*found), stand

    async def standing(self, thread_id: str, *, recent: int, limit: int) -> Standing:
        """What stands in the chain of a thread, as its summaries tell.

        Args:
            thread_id: which.
            recent: newest messages that stay although a summary has them.
            limit: messages, at most, the newest.
        """
        messages = await self._rows.fetch("archive.standing_messages", thread_id=thread_id, recent=recent, limit=limit)
        summaries = summaries_of(self._rows, await self._rows.fetch("archive.standing_summaries", thread_id=thread_id))
        ids = [summary.id for summary in summaries]
        first = await self._rows.fetch("archive.first_below", thread_id=thread_id, ids=ids) if ids else []
        positions = numbers_of(self._rows, first, "top") | numbers_of(self._rows, messages, "id")
        for summary in summaries:
            if summary.id not in positions:  # a first source is not there
                tree = await self.sources(thread_id, summary.id)
                below = tree.messages() if tree is not None else ()
                positions[summary.id] = min((message.seq for message in below), default=0)
        return Standing(
            dict(sorted(positions.items(), key=lambda position: position[1])),
            frozenset(row["id"] for row in messages if row["is_summarized"]),
            {summary.id: summary for summary in summaries if summary.id in positions},
            await self.last_id(thread_id),
        )

    async def whole_messages(self, thread_id: str, ids: Iterable[str]) -> dict[str, BaseMessage]:
        """By id, those of these messages that the archive holds, with all that the live chain has shed."""
        rows = await self._rows.fetch("archive.whole", thread_id=thread_id, ids=list(ids))
        return dict(messages_by_id(self._rows, rows))

    async def below(self, thread_id: str, ids: Iterable[str]) -> dict[str, Summary | BaseMessage]:
        """By id, those of these messages and summaries that are there."""
        values = {"thread_id": thread_id, "ids": list(ids)}
        return self._by_id(*await self._rows.fetch_each(("summaries.some", values), ("archive.whole", values)))

    def _by_id(self, summaries: list[Row], messages: Sequence[Row] = ()) -> dict[str, Summary | BaseMessage]:
        made = dict(readable(self._rows, "messages", messages, self._rows.storage.held.made.of))
        return {**{summary.id: summary for summary in summaries_of(self._rows, summaries)}, **made}

    async def places(self, thread_id: str, ids: Iterable[str]) -> dict[str, Place]:
        """By id, where those of these messages stand that the archive holds."""
        rows = await self._rows.fetch("archive.places", thread_id=thread_id, ids=list(ids))
        return dict(readable(self._rows, "messages", rows, place_of))

    async def compression(self, thread_id: str) -> Row:
        """Counts of one thread: `messages`, `archived` of them, `summaries` that stand, `level` of the highest made."""
        return (await self._rows.fetch("archive.compression", thread_id=thread_id))[0]

    async def known_ids(self, thread_id: str, ids: Iterable[str]) -> set[str]:
        """Those of the ids that the archive holds for this thread."""
        return {row["id"] for row in await self._rows.fetch("archive.known", thread_id=thread_id, ids=list(ids))}

    async def known_count(self, thread_id: str) -> int:
        """How many messages the archive holds of this thread."""
        return int((await self._rows.fetch("archive.count", thread_id=thread_id))[0]["n"])

    async def has_more_than(self, thread_id: str, ids: Iterable[str]) -> bool:
        """Whether the user has said anything beside these messages of this thread."""
        rows = await self._rows.fetch("archive.has_more", thread_id=thread_id, ids=list(ids))
        return bool(rows[0]["more"])

    async def exchanges(self, hits: Sequence[Hit], *, extracts: bool = True) -> Exchanges:
        """By thread and id of each hit, what belongs to it: see `storage.exchanges`."""
        return await exchanges(self._rows, hits, extracts=extracts)

    async def sources(self, thread_id: str, summary_id: str) -> SummaryTree | None:
        """What a summary was made from, down to the raw messages; None where the user has no such summary."""
        return await summary_tree(self._rows, thread_id, summary_id)

    async def newest_sources(self, thread_id: str, summary_id: str, *, limit: int) -> list[Fragment]:
        """The newest raw messages under a summary, up to this many, in the order they were said."""
        return await newest_sources(self._rows, thread_id, summary_id, limit)

    async def summaries(self, thread_id: str) -> list[Summary]:
        """All summaries of a thread, oldest first, those included that a higher one has replaced."""
        return summaries_of(self._rows, await self._rows.fetch("archive.summaries", thread_id=thread_id))

    async def threads(self) -> list[Row]:
        """The user's threads, the latest first, each with `thread_id`, `name`, `created_at`, `messages`, `last_at`."""
        rows = await self._rows.fetch("archive.threads")
        return [{**row, "created_at": row["created_at"] or row["last_at"] or now()} for row in rows]


def _foreign(id_: str) -> ThreadOwnershipError:
    return ThreadOwnershipError(f"Thread {id_!r} belongs to another user: choose another thread id for this user.")
