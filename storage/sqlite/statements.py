"""The statements that SQLite says in another way altogether, by those for Postgres: `TWINS`."""

from __future__ import annotations

from typing import Final

from ...facts import rows as fact_rows
from ...memory import store_index, vectors
from .. import archive_sql, exchanges, memory_changes, search_cache, transfer_sql
from .dialect import Twins
from .procedures import add_messages, adopt, fact_sheet, find_changed, import_messages

_HEAD: Final = """
SELECT CAST(last + 1 AS text) AS horizon,
       coalesce((SELECT times FROM memory_removals WHERE user_id = :user_id), 0) AS removals,
       EXISTS (SELECT 1 FROM messages WHERE user_id = :user_id AND term_keys IS NULL) AS without_terms,
       EXISTS (SELECT 1 FROM messages WHERE user_id = :user_id AND embedded_with IS NULL)
       OR EXISTS (SELECT 1 FROM summaries WHERE user_id = :user_id AND embedded_with IS NULL) AS without_vectors,
       0 AS restored
FROM change_counter
"""
_VECTORS: Final = """
SELECT langchain_id, thread_id, source_type, source_id, role, micros(created_at), embedding
FROM vectors WHERE user_id = :user_id AND model = :model AND changed >= CAST(:since AS integer)
  AND (source_type <> 'summary' OR (thread_id, source_id) NOT IN (
      SELECT thread_id, id FROM summaries WHERE user_id = :user_id AND left_at IS NOT NULL))
"""
_MESSAGES: Final = """
SELECT thread_id, id, seq, role, name, micros(created_at), ending(text), term_keys
FROM messages WHERE user_id = :user_id AND changed >= CAST(:since AS integer) AND left_at IS NULL
"""
_PASSAGES: Final = """
SELECT thread_id, source_id, content FROM (
    SELECT v.thread_id, v.source_id, v.content,
           row_number() OVER (PARTITION BY v.thread_id, v.source_id ORDER BY distance(v.embedding, :query)) AS place
    FROM (SELECT json_extract(value, '$[0]') AS thread_id, json_extract(value, '$[1]') AS id
          FROM json_each(zipped(:threads, :ids))) AS wanted
    JOIN vectors AS v ON v.user_id = :user_id AND v.model = :model AND v.thread_id = wanted.thread_id
                     AND v.source_id = wanted.id AND vector_dims(v.embedding) = :dimensions)
WHERE place = 1
"""
_UNREAD: Final = """
WITH m AS (
    SELECT thread_id, id, seq, text, created_at,
           (SELECT max(a.seq) FROM messages AS a WHERE a.user_id = :user_id AND a.thread_id = new.thread_id
            AND a.seq < new.seq AND a.role = 'user') AS asked
    FROM messages AS new WHERE user_id = :user_id AND role = 'user' AND NOT facts_read AND left_at IS NULL
    ORDER BY created_at, seq LIMIT :limit)
SELECT m.thread_id, m.id, substr(m.text, 1, :characters) AS text, m.created_at, before.id AS before_id,
       substr(before.text, 1, :characters) AS before,
       (SELECT substr(b.text, 1, :characters) FROM messages AS b WHERE b.user_id = :user_id
        AND b.thread_id = m.thread_id AND b.seq < m.seq AND b.seq > m.asked AND b.role = 'assistant'
        ORDER BY b.seq DESC LIMIT 1) AS reply
FROM m LEFT JOIN messages AS before ON before.user_id = :user_id AND before.thread_id = m.thread_id
                                   AND before.seq = m.asked
ORDER BY m.created_at, m.seq
"""
# The reach bounds the messages of an exchange, so that no limit is needed.
_EXCHANGES: Final = """
WITH hit AS (
    SELECT json_extract(value, '$[0]') AS thread_id, json_extract(value, '$[1]') AS id
    FROM json_each(zipped(:thread_ids, :ids))
), found AS (
    SELECT m.id, m.thread_id, m.seq, m.role,
           m.role = 'tool' OR json_extract(m.message, '$.data.tool_calls[0]') IS NOT NULL AS of_tools
    FROM hit JOIN messages AS m ON m.user_id = :user_id AND m.thread_id = hit.thread_id AND m.id = hit.id
), near AS (
    SELECT *, CASE WHEN of_tools THEN :tool_reach ELSE :reach END AS reach,
           CASE WHEN of_tools THEN :tool_reach ELSE 0 END AS beside
    FROM found
), span AS (
    SELECT *,
           (SELECT max(a.seq) FROM messages AS a WHERE a.user_id = :user_id AND a.thread_id = near.thread_id
            AND a.left_at IS NULL AND a.role = 'user' AND a.seq < near.seq AND a.seq >= near.seq - near.reach
            AND near.role IN ('assistant', 'agent', 'tool')) AS query,
           (SELECT min(b.seq) FROM messages AS b WHERE b.user_id = :user_id AND b.thread_id = near.thread_id
            AND b.left_at IS NULL AND b.seq > near.seq AND b.seq <= near.seq + near.reach
            AND (near.role = 'user' OR near.of_tools)
            AND (b.role IN ('assistant', 'agent') AND has_words(b.text)
                 AND json_extract(b.message, '$.data.tool_calls[0]') IS NULL
                 OR near.of_tools AND b.role = 'user')) AS reply
    FROM near
)
SELECT span.id AS hit_id, span.thread_id, c.seq, c.id, c.role, c.name, c.text, c.created_at,
       json_extract(c.message, '$.data.tool_calls') AS calls
FROM span JOIN messages AS c ON c.user_id = :user_id AND c.thread_id = span.thread_id AND c.left_at IS NULL
     AND c.seq BETWEEN coalesce(span.query, span.seq - span.beside) AND coalesce(span.reply, span.seq + span.beside)
     AND (c.seq IN (span.query, span.seq) OR c.seq = span.reply AND c.role <> 'user'
          OR span.of_tools AND (c.role = 'tool' OR json_extract(c.message, '$.data.tool_calls[0]') IS NOT NULL))
UNION ALL
SELECT s.id, s.thread_id, 0, s.id, 'assistant', 'summary', s.content, s.created_at, NULL
FROM hit JOIN summaries AS s ON s.user_id = :user_id AND s.thread_id = hit.thread_id AND s.id = hit.id
"""
_GET_RESULTS: Final = "SELECT results FROM search_cache WHERE key = ? AND created_at > ago(?)"
_PUT_RESULTS: Final = """
INSERT INTO search_cache (key, results, created_at) VALUES (?, ?, now())
ON CONFLICT (key) DO UPDATE SET results = excluded.results, created_at = excluded.created_at
"""
_PRUNE_RESULTS: Final = """
DELETE FROM search_cache WHERE created_at < ago(?)
OR created_at < (SELECT created_at FROM search_cache ORDER BY created_at DESC LIMIT 1 OFFSET ?)
"""

TWINS: Final[Twins] = {
    archive_sql.ADD_MESSAGES: add_messages,
    archive_sql.FIND_CHANGED: find_changed,
    exchanges._EXCHANGES: _EXCHANGES,
    fact_rows._SHEET: fact_sheet,
    fact_rows._UNREAD: _UNREAD,
    memory_changes._HEAD: _HEAD,
    memory_changes._MESSAGES: _MESSAGES,
    memory_changes._VECTORS: _VECTORS,
    search_cache._GET: _GET_RESULTS,
    search_cache._PRUNE: _PRUNE_RESULTS,
    search_cache._PUT: _PUT_RESULTS,
    store_index._ADOPT: adopt,
    transfer_sql.ADD_MESSAGES: import_messages,
    vectors._PASSAGES: _PASSAGES,
}
"""Rows of a time to come, as a restored Postgres may hold them, are not known here: so `_RENEW_...` has no twin."""
