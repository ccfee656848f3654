"""The keyword arm: rows of a user's messages that hold a term of the question, and how often they hold it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from psycopg.types.json import Jsonb

from .database import Database
from .terms import date_terms, terms
from .user_rows import UserRows

_MOST: Final = 20_000
_BATCH: Final = 500

_MATCHES = """
SELECT thread_id, seq, created_at,
       ARRAY(SELECT cardinality(array_positions(m.terms, asked.term))
             FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS asked(term, place) ORDER BY place) AS counts
FROM messages AS m
WHERE user_id = %(user_id)s AND terms && %(terms)s::text[]
  AND (%(thread_only)s::text IS NULL OR thread_id = %(thread_only)s)
ORDER BY created_at DESC LIMIT %(most)s
"""
_NUMBER = """
SELECT count(*) AS n FROM messages
WHERE user_id = %(user_id)s AND (%(thread_only)s::text IS NULL OR thread_id = %(thread_only)s)
"""
_WITHOUT_TERMS = """
SELECT thread_id, id, text, created_at FROM messages
WHERE user_id = %(user_id)s AND terms IS NULL LIMIT %(limit)s
"""
_SET_TERMS = """
UPDATE messages SET terms = ARRAY(SELECT jsonb_array_elements_text(done.terms))
FROM jsonb_to_recordset(%(rows)s) AS done(thread_id text, id text, terms jsonb)
WHERE user_id = %(user_id)s AND messages.thread_id = done.thread_id AND messages.id = done.id
"""


class Match(NamedTuple):
    """A message that holds terms of the question; `counts` has one number a term, in the order of the terms."""

    thread_id: str
    seq: int
    created_at: datetime
    counts: Sequence[int]


class KeywordIndex:
    """Terms in Postgres, in the rows of the archive.

    Args:
        database: where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def matches(
        self, user_id: str, asked: Sequence[str], *, thread_only: str | None = None
    ) -> tuple[list[Match], int]:
        """The user's messages that hold any of the terms, and the number of all the user's messages.

        Args:
            user_id: whose messages.
            asked: distinct terms.
            thread_only: this thread alone; None searches all.
        """
        rows = UserRows(self._database, user_id)
        if not asked:
            return [], 0
        found = await rows.fetch(_MATCHES, terms=list(asked), thread_only=thread_only, most=_MOST)
        number = await rows.fetch(_NUMBER, thread_only=thread_only)
        return [Match(row["thread_id"], row["seq"], row["created_at"], row["counts"]) for row in found], number[0]["n"]

    async def index_pending(self, user_id: str) -> int:
        """Find the terms of messages that have none yet (imported ones, say); returns how many were done."""
        rows = UserRows(self._database, user_id)
        pending = await rows.fetch(_WITHOUT_TERMS, limit=_BATCH)
        if pending:
            done = [
                {"thread_id": row["thread_id"], "id": row["id"], "terms": message_terms(row["text"], row["created_at"])}
                for row in pending
            ]
            await rows.fetch(_SET_TERMS, rows=Jsonb(done))
        return len(pending)


def message_terms(text: str, said_at: datetime) -> list[str]:
    """The terms of a message: its words, and the day on which it was said."""
    return [*terms(text), *date_terms(said_at)]
