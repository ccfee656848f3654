"""The queries by which earlier texts of summaries leave the database and come into another: part of `transfer`."""

from __future__ import annotations

from typing import Final

VERSIONS: Final = """
SELECT 'version' AS kind, thread_id AS thread, id, version, content, method, model, tokens, rejected, replaced_at
FROM summary_versions
WHERE user_id = %(user_id)s AND (%(ids)s::text[] IS NULL OR thread_id = ANY(%(ids)s)) ORDER BY thread_id, id, version
"""
# Where the archive has an older text of the summary itself, and keeps it, the file's are none of its past.
ADD_VERSIONS: Final = """
INSERT INTO summary_versions (user_id, thread_id, id, version, content, method, model, tokens, rejected, replaced_at)
SELECT %(user_id)s, new.thread_id, new.id, new.version, new.content, new.method, new.model, new.tokens, new.rejected,
       new.replaced_at
FROM jsonb_to_recordset(%(rows)s::jsonb) AS new(
    thread_id text, id text, version int, content text, method text, model text, tokens int, rejected text,
    replaced_at timestamptz)
JOIN summaries AS s ON s.user_id = %(user_id)s AND s.thread_id = new.thread_id AND s.id = new.id
WHERE s.version > new.version
ON CONFLICT (user_id, thread_id, id, version) DO NOTHING
RETURNING false AS pending
"""
