"""`Archive`: every message and every summary, kept for ever. Compression marks, it never deletes.

Each method takes the user first; each write is an upsert on a stable id, so that doing it twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from ..models.tokens import count_message_tokens
from ..state.errors import ThreadOwnershipError
from ..state.messages import clean, message_text, role_of
from ..state.records import Fragment, Hit, Role, Summary, now
from .database import Database
from .keywords import message_terms
from .user_rows import UserRows

_LOCK_THREAD = "SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s || chr(31) || %(thread_id)s, 0))"
_OWN = """
INSERT INTO threads (thread_id, user_id, name) VALUES (%(thread_id)s, %(user_id)s, %(name)s)
ON CONFLICT (thread_id) DO UPDATE SET name = excluded.name
WHERE threads.user_id = excluded.user_id AND excluded.name IS NOT NULL AND threads.name IS DISTINCT FROM excluded.name
"""
_OWNER = "SELECT user_id = %(user_id)s AS mine FROM threads WHERE thread_id = %(thread_id)s"
_ADD_MESSAGES = r"""
INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at, embedded_with, terms)
SELECT %(user_id)s, %(thread_id)s, new.id, last.seq + row_number() OVER (ORDER BY new.place),
       new.role, new.name, new.text, new.message, new.tokens, new.created_at,
       CASE WHEN new.role IN ('user', 'assistant') AND new.text ~ '\S' THEN NULL ELSE '' END,
       ARRAY(SELECT jsonb_array_elements_text(new.terms))
FROM jsonb_to_recordset(%(rows)s) AS new(place int, id text, role text, name text, text text, message jsonb,
                                         tokens int, created_at timestamptz, terms jsonb)
CROSS JOIN (SELECT coalesce(max(seq), 0) AS seq FROM messages
            WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s) AS last
WHERE NOT EXISTS (SELECT FROM messages AS old
                  WHERE old.user_id = %(user_id)s AND old.thread_id = %(thread_id)s AND old.id = new.id)
RETURNING id
"""
_ADD_SUMMARY = """
INSERT INTO summaries (user_id, thread_id, id, level, content, source_ids, method, model, tokens, covers, rejected,
                       created_at)
VALUES (%(user_id)s, %(thread_id)s, %(id)s, %(level)s, %(content)s, %(source_ids)s, %(method)s, %(model)s,
        %(tokens)s, %(covers)s, %(rejected)s, %(created_at)s)
ON CONFLICT (user_id, thread_id, id) DO NOTHING
"""
_MARK_MESSAGES = """
UPDATE messages SET active = false, chunk_id = coalesce(chunk_id, (
    SELECT coalesce(max(chunk_id), 0) + 1 FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s))
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(source_ids)s)
"""
_MARK_SUMMARIES = """
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
_EXCHANGES = """
SELECT hit.id AS hit_id, m.thread_id, m.id, m.role, m.name, m.text, m.created_at
FROM unnest(%(thread_ids)s::text[], %(ids)s::text[]) AS hit(thread_id, id)
JOIN messages found ON found.user_id = %(user_id)s AND found.thread_id = hit.thread_id AND found.id = hit.id
JOIN LATERAL (
    (SELECT * FROM messages a WHERE a.user_id = %(user_id)s AND a.thread_id = hit.thread_id AND a.seq < found.seq
       AND found.role = 'assistant' AND a.role = 'user' AND a.seq >= found.seq - 16 ORDER BY a.seq DESC LIMIT 1)
    UNION ALL SELECT found.*
    UNION ALL
    (SELECT * FROM messages b WHERE b.user_id = %(user_id)s AND b.thread_id = hit.thread_id AND b.seq > found.seq
       AND found.role = 'user' AND b.role = 'assistant' AND b.seq <= found.seq + 16 ORDER BY b.seq LIMIT 1)
) AS m ON true
UNION ALL
SELECT s.id, s.thread_id, s.id, 'assistant', 'summary', s.content, s.created_at
FROM unnest(%(thread_ids)s::text[], %(ids)s::text[]) AS hit(thread_id, id)
JOIN summaries s ON s.user_id = %(user_id)s AND s.thread_id = hit.thread_id AND s.id = hit.id
"""
_SUMMARIES = """
SELECT * FROM summaries WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s ORDER BY created_at, id
"""
_THREADS = """
SELECT t.thread_id, t.name, t.created_at, count(m.id) AS messages, max(m.created_at) AS last_at
FROM threads t LEFT JOIN messages m ON m.user_id = t.user_id AND m.thread_id = t.thread_id
WHERE t.user_id = %(user_id)s GROUP BY t.thread_id ORDER BY max(m.seq) IS NULL, max(m.created_at) DESC
"""


class ArchivedMessage(NamedTuple):
    """A message as the archive holds it. `tokens` is an estimate; `seq` counts from 1 in its thread."""

    id: str
    thread_id: str
    seq: int
    role: Role
    name: str | None
    text: str
    message: BaseMessage
    tokens: int
    active: bool
    chunk_id: int | None
    created_at: datetime


class Archive:
    """Messages and summaries in Postgres.

    Args:
        database: where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, user_id: str) -> UserRows:
        """The rows of one user."""
        return UserRows(self._database, user_id)

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

    async def add_messages(self, user_id: str, thread_id: str, messages: Sequence[BaseMessage]) -> list[str]:
        """Archive messages in their order; returns the ids that were new. One that is there already is left alone."""
        rows = [_message_row(place, message) for place, message in enumerate(messages)]
        if not rows:
            return []
        values = {"thread_id": thread_id, "name": None}
        added = await self.of(user_id).transaction(
            (_LOCK_THREAD, values), (_OWN, values), (_ADD_MESSAGES, {**values, "rows": Jsonb(rows)})
        )
        return [row["id"] for row in added]

    async def add_summary(self, user_id: str, thread_id: str, summary: Summary) -> None:
        """Store a summary and mark its sources as no longer standing on their own, in one transaction.

        Its messages get the next chunk id. A source may be a message or a summary, at any level.
        """
        values = {**summary.model_dump(), "thread_id": thread_id, "source_ids": list(summary.source_ids)}
        await self.of(user_id).transaction(
            (_LOCK_THREAD, values), (_ADD_SUMMARY, values), (_MARK_MESSAGES, values), (_MARK_SUMMARIES, values)
        )

    async def messages(self, user_id: str, thread_id: str) -> list[ArchivedMessage]:
        """All messages of a thread, oldest first."""
        return [archived(row) for row in await self.of(user_id).fetch(_MESSAGES, thread_id=thread_id)]

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
        """By thread and id of each hit: the query and the reply it belongs to, or the summary, in the order said."""
        rows = await self.of(user_id).fetch(
            _EXCHANGES, thread_ids=[hit.thread_id for hit in hits], ids=[hit.source_id for hit in hits]
        )
        found: dict[tuple[str, str], list[Fragment]] = {}
        for row in rows:
            fragment = Fragment(
                id=row["id"], role=row["role"], content=row["text"], name=row["name"], created_at=row["created_at"]
            )
            found.setdefault((row["thread_id"], row["hit_id"]), []).append(fragment)
        return {key: tuple(fragments) for key, fragments in found.items()}

    async def summaries(self, user_id: str, thread_id: str) -> list[Summary]:
        """All summaries of a thread, oldest first, those included that a higher one has replaced."""
        rows = await self.of(user_id).fetch(_SUMMARIES, thread_id=thread_id)
        return [_summary(row) for row in rows]

    async def threads(self, user_id: str) -> list[DictRow]:
        """The user's threads, the latest first, each with `thread_id`, `name`, `created_at`, `messages`, `last_at`."""
        return await self.of(user_id).fetch(_THREADS)


def archived(row: DictRow) -> ArchivedMessage:
    """The archived message of a row of the table."""
    (message,) = messages_from_dict([row["message"]])
    return ArchivedMessage(
        message=message, **{name: row[name] for name in ArchivedMessage._fields if name != "message"}
    )


def said_at(message: BaseMessage) -> datetime:
    """When a message was said: `created_at` among its additional_kwargs as ISO 8601 (UTC where it names no zone)."""
    stamp = message.additional_kwargs.get("created_at")
    try:
        moment = datetime.fromisoformat(str(stamp)) if stamp else now()
    except ValueError:
        return now()
    return moment if moment.tzinfo else moment.replace(tzinfo=now().tzinfo)


def _message_row(place: int, message: BaseMessage) -> dict[str, Any]:
    data: dict[str, Any] = clean(message_to_dict(message))
    text, moment = clean(message_text(message)), said_at(message)
    return {
        "place": place,
        "id": message.id,
        "role": role_of(message),
        "name": message.name,
        "text": text,
        "terms": message_terms(text, moment),
        "message": data,
        "tokens": count_message_tokens([message]),
        "created_at": moment.isoformat(),
    }


def _summary(row: DictRow) -> Summary:
    return Summary(**{name: row[name] for name in Summary.model_fields})
