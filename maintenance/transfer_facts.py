"""The queries by which facts and pins leave the database and come into another: part of `transfer`."""

from __future__ import annotations

from typing import Any, Final

from ..facts.rows import PUT_FACTS, PUT_PINS, fact_row
from .transfer_lines import FactLine, PinLine

FACTS: Final = """
SELECT 'fact' AS kind, thread_id AS thread, id, kind AS sort, text, subject, attribute, value, negated, settles, terms,
       state, source_id, said_at, confirmed_at, valid_from, valid_to, superseded_by, confidence, origin
FROM facts
WHERE user_id = %(user_id)s AND (%(ids)s::text[] IS NULL OR thread_id = ANY(%(ids)s)) ORDER BY thread_id, said_at, id
"""
PINS: Final = """
SELECT 'pin' AS kind, thread_id AS thread, id, kind AS sort, text, score, source_id, created_at, forgotten_at
FROM pins
WHERE user_id = %(user_id)s AND (%(ids)s::text[] IS NULL OR thread_id = ANY(%(ids)s)) ORDER BY thread_id, created_at, id
"""
# What is known already stays as it is, but for what was superseded or forgotten since.
MARK_FACTS: Final = """
UPDATE facts AS old SET state = new.state, valid_to = new.valid_to, superseded_by = new.superseded_by
FROM jsonb_to_recordset(%(rows)s::jsonb) AS new(id text, state text, valid_to timestamptz, superseded_by text)
WHERE old.user_id = %(user_id)s AND old.id = new.id AND old.valid_to IS NULL AND new.valid_to IS NOT NULL
"""
ADD_FACTS: Final = f"{PUT_FACTS} ON CONFLICT (user_id, id) DO NOTHING RETURNING false AS pending"
MARK_PINS: Final = """
UPDATE pins AS old SET forgotten_at = new.forgotten_at
FROM jsonb_to_recordset(%(rows)s::jsonb) AS new(id text, forgotten_at timestamptz)
WHERE old.user_id = %(user_id)s AND old.id = new.id AND old.forgotten_at IS NULL AND new.forgotten_at IS NOT NULL
"""
ADD_PINS: Final = f"{PUT_PINS} ON CONFLICT (user_id, id) DO NOTHING RETURNING false AS pending"


def row_of(user_id: str, line: FactLine | PinLine, thread: str) -> dict[str, Any]:
    """The columns of a line, as JSON."""
    if isinstance(line, FactLine):
        return fact_row(user_id, line.fact(thread))
    row = line.model_dump(mode="json", exclude={"kind", "thread", "sort"})
    return {**row, "kind": line.sort, "thread_id": thread}
