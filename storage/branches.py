"""Branches of a thread: what has left the conversation, what is part of it again, and what was edited in its place.

A thread is one conversation. Where it goes on from an earlier point, or a message of it is removed or edited, what no
longer belongs to it is kept with the time at which it left, and is not recalled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

from langchain_core.messages import AnyMessage

from ..state.records import now
from .archive_rows import as_jsonb, message_rows, renamed_id
from .term_keys import message_keys
from .user_rows import Exchange, UserTables

_LEAVE: Final = """
UPDATE messages SET left_at = %(moment)s
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NULL AND id <> ALL(%(ids)s::text[])
  AND seq > coalesce((SELECT min(seq) FROM messages
                      WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s::text[])), 0)
RETURNING id
"""
_REMOVE: Final = """
UPDATE messages SET left_at = %(moment)s
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NULL AND id = ANY(%(ids)s::text[])
RETURNING id
"""
_COME_BACK: Final = """
UPDATE messages SET left_at = NULL
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NOT NULL AND id = ANY(%(ids)s::text[])
RETURNING id
"""
_SUMMARIES_LEAVE: Final = """
UPDATE summaries SET left_at = %(moment)s
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NULL AND source_ids && %(ids)s::text[]
RETURNING id
"""
_LEFT_MESSAGES: Final = """
SELECT id FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NOT NULL
"""
_LEFT_SUMMARIES: Final = """
SELECT id, source_ids FROM summaries
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NOT NULL ORDER BY created_at, id
"""
_SUMMARIES_COME_BACK: Final = """
UPDATE summaries SET left_at = NULL
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s::text[])
"""
_READ_ANEW: Final = """
INSERT INTO memory_removals (user_id, times) VALUES (%(user_id)s, 1)
ON CONFLICT (user_id) DO UPDATE SET times = memory_removals.times + 1
"""
_WHOLE: Final = """
SELECT id, message, created_at FROM messages
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s::text[])
"""
_KEEP_EARLIER: Final = """
INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at,
                      embedded_with, term_keys, facts_read, left_at)
SELECT user_id, thread_id, %(earlier_id)s, (SELECT max(seq) + 1 FROM messages
                                            WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s),
       role, name, text, %(message)s::jsonb, tokens, created_at, '', term_keys, true, %(moment)s
FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = %(id)s
ON CONFLICT (user_id, thread_id, id) DO NOTHING
"""
_EDIT: Final = """
UPDATE messages AS old
SET role = new.role, name = new.name, text = new.text, message = new.message, tokens = new.tokens, facts_read = false,
    embedded_with = CASE WHEN new.role IN ('user', 'assistant', 'agent') AND trim(new.text) <> '' THEN NULL ELSE '' END,
    term_keys = ARRAY(SELECT jsonb_array_elements_text(new.term_keys)::bigint)
FROM jsonb_to_recordset(%(rows)s::jsonb) AS new(
    id text, role text, name text, text text, message jsonb, tokens int, term_keys jsonb)
WHERE old.user_id = %(user_id)s AND old.thread_id = %(thread_id)s AND old.id = new.id
"""
# What was found in the earlier text stays with that, under ids that what is found in the new one cannot have.
_FACTS_STAY: Final = """
UPDATE facts SET source_id = %(earlier_id)s, id = id || '@' || %(earlier_id)s
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND source_id = %(id)s
"""
_PINS_STAY: Final = """
UPDATE pins SET source_id = %(earlier_id)s, id = id || '@' || %(earlier_id)s
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND source_id = %(id)s
"""
_STALE: Final = """
UPDATE summaries SET rejected = %(reason)s
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND rejected IS NULL AND left_at IS NULL
  AND source_ids && %(ids)s::text[]
RETURNING id
"""

EDITED: Final = "a message that it was made from was edited"
"""Why a summary is to be made again whose source was edited."""


class Branches(UserTables):
    """Which messages of a thread belong to the conversation as it stands.

    Args:
        database: where they are kept.
    """

    async def settle(
        self,
        user_id: str,
        thread_id: str,
        ids: Sequence[str],
        removed: Collection[str] = (),
        *,
        anew: Collection[str] = (),
    ) -> None:
        """Note that these messages, and what was said before the first of them, are the conversation.

        What was archived after the first of them and is not among them has left; what is among them is part of it.
        Where none of them is archived, the conversation begins again, and all has left.

        Args:
            user_id: whose thread.
            thread_id: which.
            ids: of the newest messages, in their order.
            removed: ids of messages that were taken out of it.
            anew: ids of messages that no summary may stand for any longer.

        Raises:
            StorageError: the database fails; nothing was noted.
        """

        async def work(rows: Exchange) -> None:
            values = {"thread_id": thread_id, "moment": now()}
            gone = await rows.fetch(_REMOVE, **values, ids=list(removed)) if removed else []
            gone += await rows.fetch(_LEAVE, **values, ids=list(ids))
            back = await rows.fetch(_COME_BACK, thread_id=thread_id, ids=list(ids)) if ids else []
            above = [*(row["id"] for row in gone), *anew]
            while above:
                above = [row["id"] for row in await rows.fetch(_SUMMARIES_LEAVE, **values, ids=above)]
            if back:
                await _summaries_back(rows, thread_id)
            if gone or back or anew:
                await rows.fetch(_READ_ANEW)

        await self.of(user_id).alone(work)

    async def edit(self, user_id: str, thread_id: str, messages: Sequence[AnyMessage]) -> bool:
        """Give archived messages another content under their ids; what they were is kept as having left.

        Returns:
            Whether a summary is to be made again, because one of these is a source of it.

        Raises:
            StorageError: the database fails; nothing was changed.
        """
        new = await asyncio.to_thread(message_rows, user_id, messages)
        earlier = {str(message.id): renamed_id(message.id, now().isoformat()) for message in messages}

        async def work(rows: Exchange) -> bool:
            old = {row["id"]: row for row in await rows.fetch(_WHOLE, thread_id=thread_id, ids=list(earlier))}
            for row in old.values():
                id_, whole = earlier[row["id"]], row["message"]
                renamed = as_jsonb({**whole, "data": {**whole["data"], "id": id_}})
                values = {"id": row["id"], "earlier_id": id_, "message": renamed, "moment": now()}
                await rows.fetch(_KEEP_EARLIER, thread_id=thread_id, **values)
                for statement in (_FACTS_STAY, _PINS_STAY):
                    await rows.fetch(statement, thread_id=thread_id, id=row["id"], earlier_id=id_)
            for row in new:  # it keeps the time at which it was said
                if row["id"] in old:
                    row["term_keys"] = message_keys(user_id, row["text"], old[row["id"]]["created_at"])
            await rows.fetch(_EDIT, thread_id=thread_id, rows=as_jsonb(new))
            stale = await rows.fetch(_STALE, thread_id=thread_id, ids=list(earlier), reason=EDITED)
            await rows.fetch(_READ_ANEW)
            return bool(stale)

        return await self.of(user_id).alone(work)


async def _summaries_back(rows: Exchange, thread_id: str) -> None:
    """Bring back the summaries whose sources are all part of the conversation, the lower ones first."""
    left = {row["id"] for row in await rows.fetch(_LEFT_MESSAGES, thread_id=thread_id)}
    summaries = {row["id"]: row["source_ids"] for row in await rows.fetch(_LEFT_SUMMARIES, thread_id=thread_id)}
    left |= summaries.keys()
    back: list[str] = []
    for id_, sources in summaries.items():
        if left.isdisjoint(sources):
            left.discard(id_)
            back.append(id_)
    if back:
        await rows.fetch(_SUMMARIES_COME_BACK, thread_id=thread_id, ids=back)
