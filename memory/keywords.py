"""The keyword arm's index: the terms of each message, as numbers made of user and term, in the rows of the archive."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from ..text.dates import tells_when
from ..text.stems import stem
from ..text.terms import ENGLISH, search_terms
from .storage import Storage
from .user_rows import UserRows

_BATCH: Final = 500

TELLS_WHEN: Final = "<when>"
"""A term of messages that tell a time; no word is like it."""

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip

_WITHOUT_TERMS = """
SELECT thread_id, id, text, created_at FROM messages
WHERE user_id = %(user_id)s AND term_keys IS NULL LIMIT %(limit)s
"""
_SET_TERMS = """
UPDATE messages SET term_keys = ARRAY(SELECT jsonb_array_elements_text(done.keys)::bigint)
FROM jsonb_to_recordset(%(rows)s) AS done(thread_id text, id text, keys jsonb)
WHERE user_id = %(user_id)s AND messages.thread_id = done.thread_id AND messages.id = done.id
"""


class KeywordIndex:
    """Terms in Postgres, in the rows of the archive.

    Args:
        database: where they are kept.
    """

    def __init__(self, database: Storage) -> None:
        self._database = database

    async def index_pending(self, user_id: str) -> int:
        """Find the terms of messages that have none yet (imported ones, say); returns how many were done."""
        rows = UserRows(self._database, user_id)
        pending = await rows.fetch(_WITHOUT_TERMS, limit=_BATCH)
        if pending:
            done = await asyncio.to_thread(lambda: [_with_keys(user_id, row) for row in pending])
            await rows.fetch(_SET_TERMS, rows=Jsonb(done))
        return len(pending)


def _with_keys(user_id: str, row: DictRow) -> dict[str, Any]:
    keys = message_keys(user_id, row["text"], row["created_at"])
    return {"thread_id": row["thread_id"], "id": row["id"], "keys": keys}


def message_keys(user_id: str, text: str, said_at: datetime) -> list[int]:
    """The keys of a message's terms: its words, the day on which it was said, and whether it tells a time."""
    return term_keys(user_id, [*search_terms(text), *_date_terms(said_at), *([TELLS_WHEN] if tells_when(text) else [])])


def _date_terms(moment: datetime) -> list[str]:
    """The day as the words of a text would name it: day, month, year."""
    return [str(moment.day), stem(_MONTHS[moment.month - 1], ENGLISH), str(moment.year)]


def term_keys(user_id: str, of: Sequence[str]) -> list[int]:
    """A number for each term, another one for each user: 64 bits, signed, as Postgres counts."""
    user = blake2b(user_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return [int.from_bytes(blake2b(term.encode("utf-8"), key=user, digest_size=8).digest(), signed=True) for term in of]
