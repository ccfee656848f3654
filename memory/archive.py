"""`Archive`: every message and every summary, kept for ever. Compression marks, it never deletes.

Each method takes the user first; each write is an upsert on a stable id, so that doing it twice changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, LiteralString, NamedTuple

from langchain_core.messages import BaseMessage, messages_from_dict
from psycopg.rows import DictRow

from ..state.errors import ThreadOwnershipError
from ..state.messages import clean_text
from ..state.records import Fragment, Hit, Summary
from ..state.threads import thread_id as id_of
from .archive_rows import ArchivedMessage, archived, as_jsonb, changed_message, message_rows
from .exchanges import exchanges
from .sources import SummaryTree, as_summary, newest_sources, summary_tree
from .user_rows import UserTables

__all__ = ["Archive", "ArchivedMessage", "Offered", "Standing", "SummaryTree"]

_LOCK_THREAD = "SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s || chr(31) || %(thread_id)s, 0))"
_OWN = """
INSERT INTO threads (thread_id, user_id, name) VALUES (%(thread_id)s, %(user_id)s, %(name)s)
ON CONFLICT (thread_id) DO UPDATE SET name = excluded.name
WHERE threads.user_id = excluded.user_id AND excluded.name IS NOT NULL AND threads.name IS DISTINCT FROM excluded.name
"""
_OWNER = "SELECT user_id = %(user_id)s AS mine FROM threads WHERE thread_id = %(thread_id)s"
_CHANGED: Final[LiteralString] = """
SELECT new.id FROM new JOIN messages AS old
  ON old.user_id = %(user_id)s AND old.thread_id = %(thread_id)s AND old.id = new.id
WHERE old.role <> new.role OR old.message #> '{data,content}' IS DISTINCT FROM new.message #> '{data,content}'
   OR old.message #> '{data,tool_calls}' IS DISTINCT FROM new.message #> '{data,tool_calls}'
   OR old.message #> '{data,tool_call_id}' IS DISTINCT FROM new.message #> '{data,tool_call_id}'
"""
_NEW: Final[LiteralString] = """
SELECT * FROM jsonb_to_recordset(%(rows)s) AS line(place int, id text, role text, name text, text text, message jsonb,
                                                   tokens int, created_at timestamptz, term_keys jsonb)
"""
# Where a known message came with another content, none is added, unless the rest is to be kept.
_ADD_MESSAGES: Final[LiteralString] = rf"""
WITH new AS ({_NEW}), changed AS ({_CHANGED}), added AS (
    INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at, embedded_with,
                          term_keys)
    SELECT %(user_id)s, %(thread_id)s, new.id, last.seq + row_number() OVER (ORDER BY new.place),
           new.role, new.name, new.text, new.message, new.tokens, new.created_at,
           CASE WHEN new.role IN ('user', 'assistant', 'agent') AND new.text ~ '\S' THEN NULL ELSE '' END,
           ARRAY(SELECT jsonb_array_elements_text(new.term_keys)::bigint)
    FROM new
    CROSS JOIN (SELECT coalesce(max(seq), 0) AS seq FROM messages
                WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s) AS last
    WHERE NOT EXISTS (SELECT FROM messages AS old
                      WHERE old.user_id = %(user_id)s AND old.thread_id = %(thread_id)s AND old.id = new.id)
      AND (%(keep_rest)s OR NOT EXISTS (SELECT FROM changed))
    RETURNING id
)
SELECT id, false AS changed FROM added UNION ALL SELECT id, true FROM changed
"""  # noqa: S608  # all parts are literals
_FIND_CHANGED: Final[LiteralString] = f"WITH new AS ({_NEW}) {_CHANGED}"
_ADD_SUMMARY = """
INSERT INTO summaries (user_id, thread_id, id, level, content, source_ids, method, model, tokens, covers, rejected,
                       version, created_at)
VALUES (%(user_id)s, %(thread_id)s, %(id)s, %(level)s, %(content)s, %(source_ids)s, %(method)s, %(model)s,
        %(tokens)s, %(covers)s, %(rejected)s, %(version)s, %(created_at)s)
ON CONFLICT (user_id, thread_id, id) DO NOTHING
"""
MARK_MESSAGES = """
UPDATE messages SET active = false, chunk_id = coalesce(chunk_id, (
    SELECT coalesce(max(chunk_id), 0) + 1 FROM messages
    WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND chunk_id IS NOT NULL))
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(source_ids)s)
"""
MARK_SUMMARIES = """
UPDATE summaries SET active = false
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(source_ids)s)
"""
_MESSAGES = """
SELECT * FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s ORDER BY seq
"""
_WHOLE = """
SELECT id, message FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s)
"""
_COMPRESSION = """
SELECT (SELECT count(*) FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s) AS messages,
       (SELECT count(*) FROM messages
        WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND NOT active) AS archived,
       count(*) FILTER (WHERE active) AS summaries, max(level) AS level
FROM summaries WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s
"""
_KNOWN = """
SELECT id FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s)
"""
_COUNT = "SELECT count(*) AS n FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s"
_HAS_MORE = """
SELECT EXISTS (SELECT FROM messages WHERE user_id = %(user_id)s
               AND NOT (thread_id = %(thread_id)s AND id = ANY(%(ids)s))) AS more
"""
_SUMMARIES = """
SELECT * FROM summaries WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s ORDER BY created_at, id
"""
_OLDER = """
SELECT id FROM messages
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NULL AND id = ANY(%(ids)s)
  AND seq < (SELECT seq FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = %(first)s)
"""
_LAST = """
SELECT id FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NULL
ORDER BY seq DESC LIMIT 1
"""
# Of rows that are read backwards, the newest; then in their order.
_PAGE = """
SELECT * FROM messages
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND (left_at IS NULL OR %(with_left)s)
  AND seq < coalesce((SELECT seq FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s
                      AND id = %(before)s), 9223372036854775807)
ORDER BY seq DESC LIMIT %(limit)s
"""
_STANDING_MESSAGES = """
SELECT id, seq, active FROM messages
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NULL
  AND (active OR seq > (SELECT coalesce(max(seq), 0) - %(recent)s FROM messages
                        WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s))
ORDER BY seq DESC LIMIT %(limit)s
"""
_STANDING_SUMMARIES = """
SELECT * FROM summaries
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND active AND left_at IS NULL ORDER BY created_at, id
"""
# Down the first sources of each: the first of them that is a message was said before all others below it.
_FIRST_BELOW = """
WITH RECURSIVE below(top, id) AS (
    SELECT id, source_ids[1] FROM summaries
    WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s::text[])
    UNION
    SELECT below.top, s.source_ids[1] FROM below JOIN summaries AS s
      ON s.user_id = %(user_id)s AND s.thread_id = %(thread_id)s AND s.id = below.id
)
SELECT below.top, min(m.seq) AS seq FROM below JOIN messages AS m
  ON m.user_id = %(user_id)s AND m.thread_id = %(thread_id)s AND m.id = below.id GROUP BY below.top
"""
_THREADS = """
SELECT t.thread_id, t.name, t.created_at, count(m.id) AS messages, max(m.created_at) AS last_at
FROM threads t LEFT JOIN messages m ON m.user_id = t.user_id AND m.thread_id = t.thread_id
WHERE t.user_id = %(user_id)s GROUP BY t.thread_id ORDER BY max(m.seq) IS NULL, max(m.created_at) DESC
"""
_NAMED = "SELECT thread_id FROM threads WHERE user_id = %(user_id)s AND thread_id = ANY(%(ids)s)"


class Offered(NamedTuple):
    """What became of messages that were offered: ids that were new, and ids that are taken by another content."""

    added: tuple[str, ...]
    changed: tuple[str, ...]


class Standing(NamedTuple):
    """What stands in the chain of a thread as the archive has it.

    Attributes:
        places: by its id, where each message or summary stands; the order is what counts.
        kept: ids of messages that a summary has already, and that are recent.
        summaries: by id.
        last: the newest message; None where there is none.
    """

    places: Mapping[str, int]
    kept: frozenset[str]
    summaries: Mapping[str, Summary]
    last: str | None


class Archive(UserTables):
    """Messages and summaries in Postgres.

    Args:
        database: where they are kept.
    """

    async def own_thread(self, user_id: str, thread_id: str, name: str | None = None) -> None:
        """Claim a new thread for the user, or check that it is theirs; give it the name, if one is given.

        Raises:
            ThreadOwnershipError: the thread belongs to somebody else.
        """
        values = {"thread_id": thread_id, "name": name}
        rows = await self.of(user_id).transaction((_OWN, values), (_OWNER, values))
        if not rows or not rows[0]["mine"]:
            raise ThreadOwnershipError(
                f"Thread {thread_id!r} belongs to another user: choose another thread id for this user."
            )

    async def thread_named(self, user_id: str, name: str) -> str:
        """The id of the user's thread of this name or id; that of a new one where there is none.

        Args:
            user_id: whose thread.
            name: the name that the command line gave it, or the id that a program gave it, which need be no UUID.
        """
        new, given = id_of(name, user_id), clean_text(name)
        known = {row["thread_id"] for row in await self.of(user_id).fetch(_NAMED, ids=[new, given])}
        return given if given in known and new not in known else new

    async def has_thread(self, user_id: str, thread_id: str) -> bool:
        """Whether there is such a thread, and it is the user's."""
        rows = await self.of(user_id).fetch(_OWNER, thread_id=thread_id)
        return bool(rows and rows[0]["mine"])

    async def add_messages(self, user_id: str, thread_id: str, messages: Sequence[BaseMessage]) -> list[str]:
        """Archive messages in their order; returns the ids that were new. One that is there already is left alone.

        Raises:
            InputError: a message has no id, or one with its id and another content is there; then none is archived.
        """
        offered = await self._add(user_id, thread_id, messages, keep_rest=False)
        if offered.changed:
            raise changed_message(offered.changed)
        return list(offered.added)

    async def offer_messages(self, user_id: str, thread_id: str, messages: Sequence[BaseMessage]) -> Offered:
        """Archive messages as `add_messages` does, but for those whose id is taken by another content.

        Raises:
            InputError: a message has no id, or two of them share one.
        """
        return await self._add(user_id, thread_id, messages, keep_rest=True)

    async def refuse_changed(self, user_id: str, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        """Refuse messages whose ids are taken by another content; writes nothing.

        Raises:
            InputError: there is one.
        """
        if changed := await self.changed_ids(user_id, thread_id, messages):
            raise changed_message(changed)

    async def changed_ids(self, user_id: str, thread_id: str, messages: Sequence[BaseMessage]) -> list[str]:
        """Ids of those of these messages that the archive has with another content; writes nothing.

        Raises:
            InputError: a message has no id, or two of them share one.
        """
        rows = as_jsonb(await asyncio.to_thread(message_rows, user_id, messages))
        return [row["id"] for row in await self.of(user_id).fetch(_FIND_CHANGED, thread_id=thread_id, rows=rows)]

    async def _add(self, user_id: str, thread_id: str, messages: Sequence[BaseMessage], *, keep_rest: bool) -> Offered:
        rows = await asyncio.to_thread(message_rows, user_id, messages) if messages else []
        if not rows:
            return Offered((), ())
        values = {"thread_id": thread_id, "name": None}
        found = await self.of(user_id).transaction(
            (_LOCK_THREAD, values),
            (_OWN, values),
            (_ADD_MESSAGES, {**values, "rows": as_jsonb(rows), "keep_rest": keep_rest}),
        )
        return Offered(
            tuple(row["id"] for row in found if not row["changed"]), tuple(row["id"] for row in found if row["changed"])
        )

    async def add_summary(self, user_id: str, thread_id: str, summary: Summary) -> None:
        """Store a summary and mark its sources as no longer standing on their own, in one transaction.

        Its messages get the next chunk id. A source may be a message or a summary, at any level.
        """
        values = {**summary.model_dump(), "thread_id": thread_id, "source_ids": list(summary.source_ids)}
        await self.of(user_id).transaction(
            (_LOCK_THREAD, values), (_ADD_SUMMARY, values), (MARK_MESSAGES, values), (MARK_SUMMARIES, values)
        )

    async def messages(self, user_id: str, thread_id: str) -> list[ArchivedMessage]:
        """All messages of a thread, oldest first."""
        return [archived(row) for row in await self.of(user_id).fetch(_MESSAGES, thread_id=thread_id)]

    async def page(
        self, user_id: str, thread_id: str, *, before: str | None = None, limit: int = 50, with_left: bool = False
    ) -> list[ArchivedMessage]:
        """The newest messages of a thread before a message of it, in the order they were said.

        Args:
            user_id: whose thread.
            thread_id: which.
            before: the id of the message; None, or an unknown one, for the end of the thread.
            limit: messages, at most.
            with_left: whether those that have left the conversation are among them.
        """
        rows = await self.of(user_id).fetch(_PAGE, thread_id=thread_id, before=before, limit=limit, with_left=with_left)
        return [archived(row) for row in reversed(rows)]

    async def older_ids(self, user_id: str, thread_id: str, ids: Iterable[str], first: str | None) -> set[str]:
        """Those of the ids that the conversation has from before a message of it."""
        if first is None:
            return set()
        rows = await self.of(user_id).fetch(_OLDER, thread_id=thread_id, ids=list(ids), first=first)
        return {row["id"] for row in rows}

    async def last_id(self, user_id: str, thread_id: str) -> str | None:
        """The id of the newest message of the conversation; None where nothing was said."""
        rows = await self.of(user_id).fetch(_LAST, thread_id=thread_id)
        return rows[0]["id"] if rows else None

    async def end_and_summaries(self, user_id: str, thread_id: str) -> tuple[str | None, dict[str, Summary]]:
        """The id of the newest message of the conversation, and by id the summaries that stand in it."""
        where = {"thread_id": thread_id}
        last, summaries = await self.of(user_id).fetch_each((_LAST, where), (_STANDING_SUMMARIES, where))
        return (last[0]["id"] if last else None), {row["id"]: as_summary(row) for row in summaries}

    async def standing(self, user_id: str, thread_id: str, *, recent: int, limit: int) -> Standing:
        """What stands in the chain of a thread, as its summaries tell.

        Args:
            user_id: whose thread.
            thread_id: which.
            recent: newest messages that stay although a summary has them.
            limit: messages, at most, the newest.
        """
        mine = self.of(user_id)
        messages = await mine.fetch(_STANDING_MESSAGES, thread_id=thread_id, recent=recent, limit=limit)
        summaries = [as_summary(row) for row in await mine.fetch(_STANDING_SUMMARIES, thread_id=thread_id)]
        first = await mine.fetch(_FIRST_BELOW, thread_id=thread_id, ids=[s.id for s in summaries]) if summaries else []
        places = {row["top"]: row["seq"] for row in first} | {row["id"]: row["seq"] for row in messages}
        for summary in summaries:
            if summary.id not in places:  # a first source is not there
                tree = await self.sources(user_id, thread_id, summary.id)
                below = tree.messages() if tree is not None else ()
                places[summary.id] = min((message.seq for message in below), default=0)
        return Standing(
            dict(sorted(places.items(), key=lambda place: place[1])),
            frozenset(row["id"] for row in messages if not row["active"]),
            {summary.id: summary for summary in summaries if summary.id in places},
            await self.last_id(user_id, thread_id),
        )

    async def whole_messages(self, user_id: str, thread_id: str, ids: Iterable[str]) -> dict[str, BaseMessage]:
        """By id, those of these messages that the archive holds, with all that the live chain has shed."""
        rows = await self.of(user_id).fetch(_WHOLE, thread_id=thread_id, ids=list(ids))
        return {row["id"]: messages_from_dict([row["message"]])[0] for row in rows}

    async def compression(self, user_id: str, thread_id: str) -> DictRow:
        """Counts of one thread: `messages`, `archived` of them, `summaries` that stand, `level` of the highest made."""
        return (await self.of(user_id).fetch(_COMPRESSION, thread_id=thread_id))[0]

    async def known_ids(self, user_id: str, thread_id: str, ids: Iterable[str]) -> set[str]:
        """Those of the ids that the archive holds for this thread."""
        rows = await self.of(user_id).fetch(_KNOWN, thread_id=thread_id, ids=list(ids))
        return {row["id"] for row in rows}

    async def known_count(self, user_id: str, thread_id: str) -> int:
        """How many messages the archive holds of this thread."""
        return int((await self.of(user_id).fetch(_COUNT, thread_id=thread_id))[0]["n"])

    async def has_more_than(self, user_id: str, thread_id: str, ids: Iterable[str]) -> bool:
        """Whether the user has said anything beside these messages of this thread."""
        rows = await self.of(user_id).fetch(_HAS_MORE, thread_id=thread_id, ids=list(ids))
        return bool(rows[0]["more"])

    async def exchanges(self, user_id: str, hits: Sequence[Hit]) -> dict[tuple[str, str], tuple[Fragment, ...]]:
        """By thread and id of each hit, what belongs to it: see `memory.exchanges`."""
        return await exchanges(self.of(user_id), hits)

    async def sources(self, user_id: str, thread_id: str, summary_id: str) -> SummaryTree | None:
        """What a summary was made from, down to the raw messages; None where the user has no such summary."""
        return await summary_tree(self.of(user_id), thread_id, summary_id)

    async def newest_sources(
        self, user_id: str, thread_id: str, summary_id: str, *, limit: int
    ) -> list[ArchivedMessage]:
        """The newest raw messages under a summary, so many at most, in the order they were said."""
        return await newest_sources(self.of(user_id), thread_id, summary_id, limit)

    async def summaries(self, user_id: str, thread_id: str) -> list[Summary]:
        """All summaries of a thread, oldest first, those included that a higher one has replaced."""
        rows = await self.of(user_id).fetch(_SUMMARIES, thread_id=thread_id)
        return [as_summary(row) for row in rows]

    async def threads(self, user_id: str) -> list[DictRow]:
        """The user's threads, the latest first, each with `thread_id`, `name`, `created_at`, `messages`, `last_at`."""
        return await self.of(user_id).fetch(_THREADS)
