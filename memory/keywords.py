"""The keyword arm: which of a user's messages hold a term of the question, and where all of them stand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from .database import Database
from .terms import date_terms, terms
from .user_rows import UserRows

_MOST: Final = 20_000
"""Messages that hold a term, at most: the newest."""

_BATCH: Final = 500

# OFFSET 0 keeps the planner from reading all of the user's rows instead: the keys are of this user alone.
_MATCHES = """
SELECT thread_id, seq, ARRAY(SELECT key FROM unnest(m.term_keys) AS key WHERE key = ANY(%(keys)s::bigint[])) AS keys
FROM (SELECT * FROM messages WHERE term_keys && %(keys)s::bigint[] OFFSET 0) AS m
WHERE user_id = %(user_id)s AND (%(thread_only)s::text IS NULL OR thread_id = %(thread_only)s)
ORDER BY created_at DESC LIMIT %(most)s
"""
_PLACES = """
SELECT thread_id, array_agg(seq ORDER BY seq) AS seqs, array_agg(term_count ORDER BY seq) AS lengths,
       array_agg(extract(epoch FROM created_at)::float8 ORDER BY seq) AS times
FROM messages
WHERE user_id = %(user_id)s AND (%(thread_only)s::text IS NULL OR thread_id = %(thread_only)s)
GROUP BY thread_id
"""
_WITHOUT_TERMS = """
SELECT thread_id, id, text, created_at FROM messages
WHERE user_id = %(user_id)s AND term_keys IS NULL LIMIT %(limit)s
"""
_SET_TERMS = """
UPDATE messages SET term_keys = ARRAY(SELECT jsonb_array_elements_text(done.keys)::bigint)
FROM jsonb_to_recordset(%(rows)s) AS done(thread_id text, id text, keys jsonb)
WHERE user_id = %(user_id)s AND messages.thread_id = done.thread_id AND messages.id = done.id
"""

Place = tuple[str, int]
"""Thread and sequence number of a message."""


class Places(NamedTuple):
    """Where a user's messages stand, thread by thread in their order: four arrays of one length n.

    Attributes:
        threads: the thread's number in `names`.
        names: the threads' ids.
        seqs: the sequence number in the thread.
        times: seconds since 1970.
        lengths: terms in the message.
        numbers: by place, its position in the arrays.
    """

    threads: NDArray[np.int64]
    names: Sequence[str]
    seqs: NDArray[np.int64]
    times: NDArray[np.float64]
    lengths: NDArray[np.float64]
    numbers: Mapping[Place, int]

    def at(self, position: int) -> Place:
        """The place at a position of the arrays."""
        return self.names[self.threads[position]], int(self.seqs[position])


class Match(NamedTuple):
    """A message that holds terms of the question; `counts` has one number a term, in the order of the terms."""

    place: Place
    counts: Sequence[int]


class KeywordIndex:
    """Terms in Postgres, in the rows of the archive.

    Args:
        database: where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def matches(self, user_id: str, asked: Sequence[str], *, thread_only: str | None = None) -> list[Match]:
        """The user's messages that hold any of the terms.

        Args:
            user_id: whose messages.
            asked: distinct terms.
            thread_only: this thread alone; None searches all.
        """
        if not asked:
            return []
        keys = {key: number for number, key in enumerate(term_keys(user_id, asked))}
        rows = UserRows(self._database, user_id)
        found = await rows.fetch(_MATCHES, keys=list(keys), thread_only=thread_only, most=_MOST)
        matches = []
        for row in found:
            counts = [0] * len(keys)
            for key in row["keys"]:
                counts[keys[key]] += 1
            matches.append(Match((row["thread_id"], row["seq"]), counts))
        return matches

    async def places(self, user_id: str, *, thread_only: str | None = None) -> Places:
        """Where all of the user's messages stand."""
        rows = await UserRows(self._database, user_id).fetch(_PLACES, thread_only=thread_only)
        return places(
            {row["thread_id"]: [*zip(row["seqs"], row["times"], row["lengths"], strict=True)] for row in rows}
        )

    async def index_pending(self, user_id: str) -> int:
        """Find the terms of messages that have none yet (imported ones, say); returns how many were done."""
        rows = UserRows(self._database, user_id)
        pending = await rows.fetch(_WITHOUT_TERMS, limit=_BATCH)
        if pending:
            done = await asyncio.to_thread(lambda: [_with_keys(user_id, row) for row in pending])
            await rows.fetch(_SET_TERMS, rows=Jsonb(done))
        return len(pending)


def places(threads: Mapping[str, Sequence[tuple[int, float, int]]]) -> Places:
    """The places of messages given by thread, each as its sequence number, its time and its length."""
    names = list(threads)
    rows = [(number, *row) for number, name in enumerate(names) for row in threads[name]]
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    of, seqs = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    numbers = {(names[thread], seq): n for n, (thread, seq) in enumerate(zip(of.tolist(), seqs.tolist(), strict=True))}
    return Places(of, names, seqs, table[:, 2], table[:, 3], numbers)


def _with_keys(user_id: str, row: DictRow) -> dict[str, Any]:
    keys = message_keys(user_id, row["text"], row["created_at"])
    return {"thread_id": row["thread_id"], "id": row["id"], "keys": keys}


def message_keys(user_id: str, text: str, said_at: datetime) -> list[int]:
    """The keys of a message's terms: its words, and the day on which it was said."""
    return term_keys(user_id, [*terms(text), *date_terms(said_at)])


def term_keys(user_id: str, of: Sequence[str]) -> list[int]:
    """A number for each term, another one for each user: 64 bits, signed, as Postgres counts."""
    user = blake2b(user_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return [int.from_bytes(blake2b(term.encode("utf-8"), key=user, digest_size=8).digest(), signed=True) for term in of]
