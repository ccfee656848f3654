"""What becomes of the facts of other threads when threads are deleted: only what was said nowhere else is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from psycopg.types.json import Jsonb

from ..storage.user_rows import Exchange
from .ledger import changed, without
from .rows import UPSERT_FACTS, fact_of, fact_row

_TOUCHED: Final = """
WITH gone AS (SELECT id, slot FROM facts WHERE user_id = %(user_id)s AND thread_id = ANY(%(threads)s))
SELECT * FROM facts
WHERE user_id = %(user_id)s
  AND (thread_id = ANY(%(threads)s) OR superseded_by IN (SELECT id FROM gone)
       OR state IN ('current', 'conflicting') AND slot IN (SELECT slot FROM gone WHERE slot IS NOT NULL))
"""
# What is said again elsewhere is not stored again: the fact only tells when that was. What the user wanted forgotten is
# not read anew.
_READ_AGAIN: Final = """
UPDATE messages SET facts_read = false
WHERE user_id = %(user_id)s AND role = 'user' AND thread_id <> ALL(%(threads)s)
  AND created_at IN (SELECT confirmed_at FROM facts
                     WHERE user_id = %(user_id)s AND thread_id = ANY(%(threads)s) AND confirmed_at > said_at
                       AND state IN ('current', 'conflicting'))
"""


async def release_facts(rows: Exchange, user_id: str, threads: Sequence[str]) -> None:
    """Before threads are deleted: what their facts had ended holds again, and what confirmed them is read anew.

    Args:
        rows: the user's.
        user_id: the user.
        threads: those that are about to be deleted, with their facts.
    """
    names = list(threads)
    touched = [fact_of(row) for row in await rows.fetch(_TOUCHED, threads=names)]
    gone = {fact.id for fact in touched if fact.thread_id in names}
    after = changed(touched, without(touched, gone))
    if after:
        await rows.fetch(UPSERT_FACTS, rows=Jsonb([fact_row(user_id, fact) for fact in after]))
    await rows.fetch(_READ_AGAIN, threads=names)
