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
    """Where a user's messages stand, thread by thread in their order: arrays of one length n.

    Attributes:
        names: the threads' ids, in the order of the arrays.
        starts: where each thread begins in the arrays, and n at the end.
        seqs: the sequence number in the thread.
        times: seconds since 1970.
        lengths: terms in the message.
    """

    names: Sequence[str]
    starts: NDArray[np.int64]
    seqs: NDArray[np.int64]
    times: NDArray[np.float64]
    lengths: NDArray[np.float64]

    def at(self, position: int) -> Place:
        """The place at a position of the arrays."""
        thread = int(np.searchsorted(self.starts, position, side="right")) - 1
        return self.names[thread], int(self.seqs[position])

    def positions(self, of: Sequence[Place]) -> NDArray[np.int64]:
        """The positions of places in the arrays; -1 for one that is not there."""
        numbers = {name: number for number, name in enumerate(self.names)}
        found = [self._position(numbers.get(name), seq) for name, seq in of]
        return np.array(found, dtype=np.int64)

    def _position(self, thread: int | None, seq: int) -> int:
        if thread is None:
            return -1
        start, stop = self.starts[thread], self.starts[thread + 1]
        position = int(start + np.searchsorted(self.seqs[start:stop], seq))
        return position if position < stop and self.seqs[position] == seq else -1


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
        return places({row["thread_id"]: (row["seqs"], row["times"], row["lengths"]) for row in rows})

    async def index_pending(self, user_id: str) -> int:
        """Find the terms of messages that have none yet (imported ones, say); returns how many were done."""
        rows = UserRows(self._database, user_id)
        pending = await rows.fetch(_WITHOUT_TERMS, limit=_BATCH)
        if pending:
            done = await asyncio.to_thread(lambda: [_with_keys(user_id, row) for row in pending])
            await rows.fetch(_SET_TERMS, rows=Jsonb(done))
        return len(pending)


def places(threads: Mapping[str, tuple[Sequence[int], Sequence[float], Sequence[int]]]) -> Places:
    """The places of messages given by thread: their sequence numbers, in order, their times and their lengths."""
    parts = list(threads.values())
    return Places(
        list(threads),
        np.cumsum([0, *(len(seqs) for seqs, _, _ in parts)]),
        np.array([seq for seqs, _, _ in parts for seq in seqs], dtype=np.int64),
        np.array([moment for _, times, _ in parts for moment in times], dtype=np.float64),
        np.array([length for _, _, lengths in parts for length in lengths], dtype=np.float64),
    )


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
