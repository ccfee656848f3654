"""The statements of `Archive`."""

from __future__ import annotations

from typing import Final, LiteralString

LOCK_THREAD: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s || chr(31) || %(thread_id)s, 0))"
OWN: Final = """
INSERT INTO threads (thread_id, user_id, name) VALUES (%(thread_id)s, %(user_id)s, %(name)s)
ON CONFLICT (thread_id) DO UPDATE SET name = excluded.name
WHERE threads.user_id = excluded.user_id AND excluded.name IS NOT NULL AND threads.name IS DISTINCT FROM excluded.name
"""
OWNER: Final = "SELECT user_id = %(user_id)s AS mine FROM threads WHERE thread_id = %(thread_id)s"
CHANGED: Final[LiteralString] = """
SELECT new.id FROM new JOIN messages AS old
  ON old.user_id = %(user_id)s AND old.thread_id = %(thread_id)s AND old.id = new.id
WHERE old.role <> new.role OR old.message #> '{data,content}' IS DISTINCT FROM new.message #> '{data,content}'
   OR old.message #> '{data,tool_calls}' IS DISTINCT FROM new.message #> '{data,tool_calls}'
   OR old.message #> '{data,tool_call_id}' IS DISTINCT FROM new.message #> '{data,tool_call_id}'
"""
NEW: Final[LiteralString] = """
SELECT * FROM jsonb_to_recordset(%(rows)s) AS line(place int, id text, role text, name text, text text, message jsonb,
                                                   tokens int, created_at timestamptz, term_keys jsonb)
"""
# Where a known message came with another content, none is added, unless the rest is to be kept.
ADD_MESSAGES: Final[LiteralString] = rf"""
WITH new AS ({NEW}), changed AS ({CHANGED}), added AS (
    INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at, embedded_with,
                          term_keys)
    SELECT %(user_id)s, %(thread_id)s, new.id, last.seq + row_number() OVER (ORDER BY new.place),
           new.role, new.name, new.text, new.message, new.tokens, new.created_at,
           CASE WHEN new.role IN ('user', 'assistant', 'agent') AND new.text ~ '\S' THEN NULL ELSE '' END,
           ARRAY(SELECT jsonb_array_elements_text(new.term_keys)::bigint)
    FROM new
    CROSS JOIN (SELECT coalesce(max(seq), 0) AS seq FROM messages
                WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s) AS last
    WHERE NOT EXISTS (SELECT FROM messages AS old
                      WHERE old.user_id = %(user_id)s AND old.thread_id = %(thread_id)s AND old.id = new.id)
      AND (%(keep_rest)s OR NOT EXISTS (SELECT FROM changed))
    RETURNING id
)
SELECT id, false AS changed FROM added UNION ALL SELECT id, true FROM changed
"""  # noqa: S608  # all parts are literals
FIND_CHANGED: Final[LiteralString] = f"WITH new AS ({NEW}) {CHANGED}"
ADD_SUMMARY: Final = """
INSERT INTO summaries (user_id, thread_id, id, level, content, source_ids, method, model, tokens, covers, rejected,
                       version, created_at)
VALUES (%(user_id)s, %(thread_id)s, %(id)s, %(level)s, %(content)s, %(source_ids)s, %(method)s, %(model)s,
        %(tokens)s, %(covers)s, %(rejected)s, %(version)s, %(created_at)s)
ON CONFLICT (user_id, thread_id, id) DO NOTHING
"""
SOURCES: Final = """
SELECT id, source_ids, left_at FROM summaries
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s ORDER BY created_at, id
"""
MESSAGES: Final = """
SELECT * FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s ORDER BY seq
"""
SOME: Final = """
SELECT * FROM summaries WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s)
"""
WHOLE: Final = """
SELECT id, message FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s)
"""
COMPRESSION: Final = """
SELECT (SELECT count(*) FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s) AS messages,
       (SELECT count(*) FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s
        AND id IN (SELECT id FROM summarized WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s)) AS archived,
       count(*) FILTER (WHERE left_at IS NULL AND id NOT IN (
           SELECT id FROM summarized WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s)) AS summaries,
       max(level) AS level
FROM summaries WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s
"""
KNOWN: Final = """
SELECT id FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s)
"""
COUNT: Final = "SELECT count(*) AS n FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s"
HAS_MORE: Final = """
SELECT EXISTS (SELECT FROM messages WHERE user_id = %(user_id)s
               AND NOT (thread_id = %(thread_id)s AND id = ANY(%(ids)s))) AS more
"""
SUMMARIES: Final = """
SELECT * FROM summaries WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s ORDER BY created_at, id
"""
OLDER: Final = """
SELECT id FROM messages
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NULL AND id = ANY(%(ids)s)
  AND seq < (SELECT seq FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = %(first)s)
"""
LAST: Final = """
SELECT id FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NULL
ORDER BY seq DESC LIMIT 1
"""
# Of rows that are read backwards, the newest; then in their order.
PAGE: Final = """
SELECT * FROM messages
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND (left_at IS NULL OR %(with_left)s)
  AND seq < coalesce((SELECT seq FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s
                      AND id = %(before)s), 9223372036854775807)
ORDER BY seq DESC LIMIT %(limit)s
"""
STANDING_MESSAGES: Final = """
SELECT * FROM (
    SELECT id, seq, id IN (SELECT id FROM summarized
                           WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s) AS is_summarized
    FROM messages WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NULL
) AS said
WHERE NOT is_summarized OR seq > (SELECT coalesce(max(seq), 0) - %(recent)s FROM messages
                                  WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s)
ORDER BY seq DESC LIMIT %(limit)s
"""
STANDING_SUMMARIES: Final = """
SELECT * FROM summaries
WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND left_at IS NULL
  AND id NOT IN (SELECT id FROM summarized WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s)
ORDER BY created_at, id
"""
# Down the first sources of each: the first of them that is a message was said before all others below it.
FIRST_BELOW: Final = """
WITH RECURSIVE below(top, id) AS (
    SELECT id, source_ids[1] FROM summaries
    WHERE user_id = %(user_id)s AND thread_id = %(thread_id)s AND id = ANY(%(ids)s::text[])
    UNION
    SELECT below.top, s.source_ids[1] FROM below JOIN summaries AS s
      ON s.user_id = %(user_id)s AND s.thread_id = %(thread_id)s AND s.id = below.id
)
SELECT below.top, min(m.seq) AS seq FROM below JOIN messages AS m
  ON m.user_id = %(user_id)s AND m.thread_id = %(thread_id)s AND m.id = below.id GROUP BY below.top
"""
THREADS: Final = """
SELECT t.thread_id, t.name, t.created_at, count(m.id) AS messages, max(m.created_at) AS last_at
FROM threads t LEFT JOIN messages m ON m.user_id = t.user_id AND m.thread_id = t.thread_id
WHERE t.user_id = %(user_id)s GROUP BY t.thread_id ORDER BY max(m.seq) IS NULL, max(m.created_at) DESC
"""
NAMED: Final = "SELECT thread_id FROM threads WHERE user_id = %(user_id)s AND thread_id = ANY(%(ids)s)"
