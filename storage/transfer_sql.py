"""The statement that imports a batch of messages."""

from __future__ import annotations

from typing import Final

ADD_MESSAGES: Final = r"""
WITH lines AS (
    SELECT * FROM jsonb_to_recordset(%(rows)s::jsonb) AS line(
        thread_id text, id text, seq bigint, role text, name text, text text, message jsonb, tokens int,
        created_at timestamptz, term_keys jsonb, left_at timestamptz)
), changed AS (
    SELECT line.thread_id, line.id FROM lines AS line JOIN messages AS old
      ON old.user_id = %(user_id)s AND old.thread_id = line.thread_id AND old.id = line.id
    WHERE old.role <> line.role OR old.message #> '{data,content}' IS DISTINCT FROM line.message #> '{data,content}'
       OR old.message #> '{data,tool_calls}' IS DISTINCT FROM line.message #> '{data,tool_calls}'
       OR old.message #> '{data,tool_call_id}' IS DISTINCT FROM line.message #> '{data,tool_call_id}'
    UNION ALL
    SELECT line.thread_id, line.id FROM lines AS line JOIN lines AS old
      ON old.thread_id = line.thread_id AND old.id = line.id AND old.seq < line.seq
    WHERE old.role <> line.role OR old.message <> line.message
), new AS (
    SELECT * FROM lines AS line
    WHERE NOT EXISTS (SELECT FROM changed) AND NOT EXISTS (
        SELECT FROM messages AS old WHERE old.user_id = %(user_id)s
        AND old.thread_id = line.thread_id AND old.id = line.id)
), moved AS (
    SELECT new.thread_id, (SELECT max(seq) FROM messages AS old WHERE old.user_id = %(user_id)s
                           AND old.thread_id = new.thread_id) AS last
    FROM new JOIN messages AS taken ON taken.user_id = %(user_id)s AND taken.thread_id = new.thread_id
                                    AND taken.seq = new.seq
    GROUP BY new.thread_id
), added AS (
    INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at,
                          embedded_with, term_keys, left_at)
    SELECT %(user_id)s, thread_id, id,
           coalesce(last + row_number() OVER (PARTITION BY thread_id ORDER BY seq), seq),
           role, name, text, message, tokens, created_at,
           CASE WHEN role IN ('user', 'assistant', 'agent') AND text ~ '\S' THEN NULL ELSE '' END,
           ARRAY(SELECT jsonb_array_elements_text(term_keys)::bigint), left_at
    FROM new LEFT JOIN moved USING (thread_id)
    ON CONFLICT (user_id, thread_id, id) DO NOTHING
    RETURNING embedded_with IS NULL AS pending
)
SELECT pending, NULL AS thread_id, NULL AS changed FROM added UNION ALL SELECT false, thread_id, id FROM changed
"""
"""Adds the lines that are new. A message keeps its place, unless another one has it: then those of the batch go to the
end of their thread. Where a line has a known id and another content, nothing is added, and a row names it as `changed`.
"""
