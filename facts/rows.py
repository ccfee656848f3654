"""`FactRows`: facts and pins in Postgres. Each write is an upsert on a stable id; a message is read for facts once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from ..state.fact_records import Fact, Pin
from ..state.records import EVERTHREAD_NAMESPACE
from ..storage.term_keys import term_keys
from ..storage.user_rows import Exchange, UserTables
from .clauses import MOST_CHARACTERS
from .extraction import Said
from .ledger import changed, meaning
from .reading import Ledger, Message
from .sheet import weight

UNREAD: Final = 50
"""Messages that are read for facts at once."""

_MOST: Final = 5_000
"""Open facts that "forget ..." looks through; the newest ones."""

_UNREAD = """
SELECT m.thread_id, m.id, left(m.text, %(characters)s) AS text, m.created_at, asked.id AS before_id,
       left(asked.text, %(characters)s) AS before, left(said.text, %(characters)s) AS reply
FROM (SELECT * FROM messages WHERE user_id = %(user_id)s AND role = 'user' AND NOT facts_read AND left_at IS NULL
      ORDER BY created_at, seq LIMIT %(limit)s) AS m
LEFT JOIN LATERAL (SELECT id, text, seq FROM messages a WHERE a.user_id = %(user_id)s AND a.thread_id = m.thread_id
                   AND a.seq < m.seq AND a.role = 'user' ORDER BY a.seq DESC LIMIT 1) AS asked ON true
LEFT JOIN LATERAL (SELECT text FROM messages b WHERE b.user_id = %(user_id)s AND b.thread_id = m.thread_id
                   AND b.seq < m.seq AND b.seq > asked.seq AND b.role = 'assistant'
                   ORDER BY b.seq DESC LIMIT 1) AS said ON true
ORDER BY m.created_at, m.seq
"""
_READ = """
UPDATE messages SET facts_read = true
FROM unnest(%(threads)s::text[], %(ids)s::text[]) AS done(thread_id, id)
WHERE user_id = %(user_id)s AND messages.thread_id = done.thread_id AND messages.id = done.id
RETURNING messages.id
"""
_NOT_READ = """
UPDATE messages SET facts_read = false
FROM unnest(%(threads)s::text[], %(ids)s::text[]) AS done(thread_id, id)
WHERE user_id = %(user_id)s AND messages.thread_id = done.thread_id AND messages.id = done.id
"""
_RELATED = """
SELECT * FROM facts
WHERE user_id = %(user_id)s AND (meaning = ANY(%(meanings)s::uuid[]) OR slot = ANY(%(slots)s::uuid[])
                                 OR id = ANY(%(ids)s::text[]))
  AND NOT EXISTS (SELECT FROM messages AS left_ WHERE left_.user_id = %(user_id)s
                  AND left_.thread_id = facts.thread_id AND left_.id = facts.source_id AND left_.left_at IS NOT NULL)
"""
_OPEN = """
SELECT * FROM facts WHERE user_id = %(user_id)s AND state IN ('current', 'conflicting')
ORDER BY said_at DESC LIMIT %(limit)s
"""
_ALL = "SELECT * FROM facts WHERE user_id = %(user_id)s ORDER BY said_at, id"
_PINS = """
SELECT * FROM pins WHERE user_id = %(user_id)s AND (forgotten_at IS NULL OR %(forgotten)s) ORDER BY created_at, id
"""
PUT_FACTS: Final = """
INSERT INTO facts
SELECT %(user_id)s, new.* FROM jsonb_to_recordset(%(rows)s::jsonb) AS new(
    id text, thread_id text, kind text, text text, subject text, attribute text, value text, negated boolean,
    settles boolean, terms text[], state text, source_id text, said_at timestamptz, confirmed_at timestamptz,
    valid_from timestamptz, valid_to timestamptz, superseded_by text, confidence double precision, origin text,
    meaning uuid, slot uuid, weight double precision, term_keys bigint[])
"""
UPSERT_FACTS: Final = f"""{PUT_FACTS}
ON CONFLICT (user_id, id) DO UPDATE SET state = excluded.state, confirmed_at = excluded.confirmed_at,
    valid_from = excluded.valid_from, valid_to = excluded.valid_to, superseded_by = excluded.superseded_by
"""
PUT_PINS: Final = """
INSERT INTO pins
SELECT %(user_id)s, new.* FROM jsonb_to_recordset(%(rows)s::jsonb) AS new(
    id text, thread_id text, text text, kind text, score double precision, source_id text, created_at timestamptz,
    forgotten_at timestamptz)
"""
_UPSERT_PINS: Final = f"""{PUT_PINS}
ON CONFLICT (user_id, id) DO UPDATE SET forgotten_at = coalesce(pins.forgotten_at, excluded.forgotten_at)
"""
# Of both pools together, what the question names comes first, as `facts.sheet.importance` has it.
_SHEET = """
WITH found AS (
    (SELECT * FROM facts
     WHERE user_id = %(user_id)s AND state IN ('current', 'conflicting')
       AND (%(thread_only)s::text IS NULL OR thread_id = %(thread_only)s)
       AND NOT EXISTS (SELECT FROM messages AS left_ WHERE left_.user_id = %(user_id)s
                       AND left_.thread_id = facts.thread_id AND left_.id = facts.source_id
                       AND left_.left_at IS NOT NULL)
     ORDER BY weight DESC, said_at DESC LIMIT %(pool)s)
    UNION
    (SELECT * FROM facts
     WHERE user_id = %(user_id)s AND term_keys && %(keys)s::bigint[] AND state IN ('current', 'conflicting')
       AND (%(thread_only)s::text IS NULL OR thread_id = %(thread_only)s)
       AND NOT EXISTS (SELECT FROM messages AS left_ WHERE left_.user_id = %(user_id)s
                       AND left_.thread_id = facts.thread_id AND left_.id = facts.source_id
                       AND left_.left_at IS NOT NULL)
     ORDER BY said_at DESC LIMIT %(pool)s)
), ranked AS (
    SELECT found.*,
           row_number() OVER (ORDER BY weight + CASE WHEN n > 0 THEN 1 + n / cardinality(%(keys)s::bigint[]) ELSE 0 END
                              DESC, said_at DESC, id DESC) AS place
    FROM found
    CROSS JOIN LATERAL (SELECT count(*)::float8 AS n FROM unnest(term_keys) AS k
                        WHERE k = ANY(%(keys)s::bigint[])) AS shared
    WHERE NOT (thread_id = %(thread_id)s AND source_id = ANY(%(newest)s::text[]))
    ORDER BY place LIMIT %(most)s
)
(SELECT 'fact' AS what, to_jsonb(f) AS row, place FROM ranked AS f)
UNION ALL
(SELECT 'pin', to_jsonb(p), row_number() OVER (ORDER BY kind = 'manual' DESC, score DESC, created_at DESC) AS place
 FROM pins AS p
 WHERE user_id = %(user_id)s AND forgotten_at IS NULL
   AND (thread_id = %(thread_id)s OR (kind = 'manual' AND %(thread_only)s::text IS NULL))
   AND NOT (kind = 'automatic' AND source_id = ANY(%(live)s::text[]))
   AND NOT EXISTS (SELECT FROM messages AS left_ WHERE left_.user_id = %(user_id)s
                   AND left_.thread_id = p.thread_id AND left_.id = p.source_id AND left_.left_at IS NOT NULL)
 ORDER BY place LIMIT %(max_pins)s)
ORDER BY what, place
"""
_FORGET_FACT = """
UPDATE facts SET state = 'forgotten', valid_to = greatest(%(moment)s, confirmed_at)
WHERE user_id = %(user_id)s AND id = %(id)s AND state <> 'forgotten' RETURNING text
"""
_FORGET_PIN = """
UPDATE pins SET forgotten_at = %(moment)s
WHERE user_id = %(user_id)s AND id = %(id)s AND forgotten_at IS NULL RETURNING text
"""


class FactRows(UserTables):
    """The facts and pins of all users.

    Args:
        database: where they are kept.
    """

    async def unread(self, user_id: str, limit: int = UNREAD) -> list[Message]:
        """The user's messages that were not read for facts yet, the oldest first, each with what was said before it."""
        return [
            Message(
                Said(row["thread_id"], row["id"], row["created_at"]), row["text"], row["before"] or "",
                row["before_id"] or "", row["reply"] or "",
            )
            for row in await self.of(user_id).fetch(_UNREAD, limit=limit, characters=MOST_CHARACTERS)
        ]  # fmt: skip

    async def update(
        self,
        user_id: str,
        candidates: Collection[Fact],
        change: Callable[[Ledger], Ledger],
        *,
        everything: bool = False,
        read: Sequence[Said] = (),
    ) -> tuple[Fact, ...]:
        """Change a user's ledger, and mark messages as read, in one transaction; returns the facts that changed.

        Args:
            user_id: whose ledger.
            candidates: the facts that come in: what may have to do with them is loaded.
            change: the ledger after, from the one before. It may be called twice.
            everything: whether all open facts and all pins are loaded.
            read: the messages that need not be read again. If one of them is gone, nothing is changed.

        Raises:
            StorageError: the database fails; then nothing was changed.
        """

        async def work(rows: Exchange) -> tuple[Fact, ...]:
            where = {"threads": [said.thread_id for said in read], "ids": [said.source_id for said in read]}
            if read and len(await rows.fetch(_READ, **where)) < len(read):
                await rows.fetch(_NOT_READ, **where)
                return ()
            before = await _load(rows, user_id, candidates, everything=everything)
            after = change(before)
            facts = changed(before.facts, after.facts)
            known = {pin.id: pin for pin in before.pins}
            pins = [pin for pin in after.pins if known.get(pin.id) != pin]
            if facts:
                await rows.fetch(UPSERT_FACTS, rows=Jsonb([fact_row(user_id, fact) for fact in facts]))
            if pins:
                await rows.fetch(_UPSERT_PINS, rows=Jsonb([pin.model_dump(mode="json") for pin in pins]))
            return facts

        return await self.of(user_id).alone(work)

    async def sheet(
        self, user_id: str, thread_id: str, terms: Iterable[str], *, live: Sequence[str], newest: Sequence[str],
        pool: int, most: int, max_pins: int, this_thread_only: bool,
    ) -> tuple[Iterator[Fact], list[Pin]]:  # fmt: skip
        """The facts and pins among which a turn's are chosen, the most important facts first, in one round trip.

        Args:
            user_id: whose turn it is.
            thread_id: the thread.
            terms: the words of the question.
            live: ids of the live chain; what is pinned by itself from there is left out.
            newest: ids of the messages that are in every context anyway: no facts from these.
            pool: facts that are looked at: so many by their weight, and so many that the question names.
            most: facts, at most.
            max_pins: pins, at most.
            this_thread_only: whether other threads count.
        """
        rows = await self.of(user_id).fetch(
            _SHEET,
            thread_id=thread_id,
            thread_only=thread_id if this_thread_only else None,
            keys=term_keys(user_id, list(terms)),
            live=list(live),
            newest=list(newest),
            pool=pool,
            most=most,
            max_pins=max_pins,
        )
        facts = (row["row"] for row in rows if row["what"] == "fact")
        return map(fact_of, facts), [pin_of(row["row"]) for row in rows if row["what"] == "pin"]

    async def all_facts(self, user_id: str) -> list[Fact]:
        """All facts of a user, in every state, in the order they were said."""
        return [fact_of(row) for row in await self.of(user_id).fetch(_ALL)]

    async def pins(self, user_id: str, *, forgotten: bool = False) -> list[Pin]:
        """The pins of a user, the oldest first."""
        return [pin_of(row) for row in await self.of(user_id).fetch(_PINS, forgotten=forgotten)]

    async def forget(self, user_id: str, id_: str, moment: datetime) -> str | None:
        """Forget one fact or pin from this moment on; returns its text, or None where there is none to forget."""
        values: dict[str, Any] = {"id": id_, "moment": moment}
        rows = await self.of(user_id).fetch(_FORGET_FACT, **values)
        rows = rows or await self.of(user_id).fetch(_FORGET_PIN, **values)
        return str(rows[0]["text"]) if rows else None


async def _load(rows: Exchange, user_id: str, candidates: Collection[Fact], *, everything: bool) -> Ledger:
    wanted = [fact_row(user_id, fact) for fact in candidates]
    facts: list[DictRow] = []
    if wanted:
        facts = await rows.fetch(
            _RELATED,
            meanings=[row["meaning"] for row in wanted],
            slots=[row["slot"] for row in wanted if row["slot"]],
            ids=[row["id"] for row in wanted],
        )
    pins: list[DictRow] = []
    if everything:
        facts += await rows.fetch(_OPEN, limit=_MOST)
        pins = await rows.fetch(_PINS, forgotten=False)
    known = {fact.id: fact for fact in map(fact_of, facts)}
    return Ledger(tuple(known.values()), tuple(map(pin_of, pins)))


def fact_row(user_id: str, fact: Fact) -> dict[str, Any]:
    """The columns of a fact, as JSON."""
    slot = _hash(fact.slot) if fact.slot is not None else None
    return {
        **fact.model_dump(mode="json"),
        "meaning": _hash(meaning(fact)),
        "slot": slot,
        "weight": weight(fact),
        "term_keys": term_keys(user_id, fact.terms),
    }


def fact_of(row: DictRow) -> Fact:
    """The fact of a row."""
    return Fact.model_validate({name: row[name] for name in Fact.model_fields})


def pin_of(row: DictRow) -> Pin:
    """The pin of a row."""
    return Pin.model_validate({name: row[name] for name in Pin.model_fields})


def _hash(text: str) -> str:
    return str(uuid.uuid5(EVERTHREAD_NAMESPACE, text))
