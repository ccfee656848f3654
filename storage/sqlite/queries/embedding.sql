-- name: embedding.pending_messages
SELECT 'message' AS source_type, thread_id, id, role, name, text, created_at, embedded_with, 1 AS version,
       seq AS ordinal, json_extract(sound(message), '$.data.tool_calls') AS calls FROM messages
WHERE user_id = :user_id AND (thread_id, seq) > (:thread_id, :ordinal)
  AND embedded_with IS NULL
  AND thread_id || '/' || id NOT IN (SELECT value FROM json_each(:refused)) ORDER BY thread_id, ordinal LIMIT :limit

-- name: embedding.pending_summaries
SELECT 'summary' AS source_type, thread_id, id, 'assistant' AS role, NULL AS name, content AS text, created_at,
       embedded_with, version, id AS ordinal FROM summaries
WHERE user_id = :user_id AND (thread_id, id) > (:thread_id, :ordinal)
  AND embedded_with IS NULL
  AND thread_id || '/' || id NOT IN (SELECT value FROM json_each(:refused)) ORDER BY thread_id, ordinal LIMIT :limit

-- name: embedding.stale_messages
SELECT 'message' AS source_type, thread_id, id, role, name, text, created_at, embedded_with, 1 AS version,
       seq AS ordinal, json_extract(sound(message), '$.data.tool_calls') AS calls FROM messages
WHERE user_id = :user_id AND (thread_id, seq) > (:thread_id, :ordinal)
  AND embedded_with IS NOT :model AND embedded_with IS NOT ''
  AND thread_id || '/' || id NOT IN (SELECT value FROM json_each(:refused)) ORDER BY thread_id, ordinal LIMIT :limit

-- name: embedding.stale_summaries
SELECT 'summary' AS source_type, thread_id, id, 'assistant' AS role, NULL AS name, content AS text, created_at,
       embedded_with, version, id AS ordinal FROM summaries
WHERE user_id = :user_id AND (thread_id, id) > (:thread_id, :ordinal)
  AND embedded_with IS NOT :model AND embedded_with IS NOT ''
  AND thread_id || '/' || id NOT IN (SELECT value FROM json_each(:refused)) ORDER BY thread_id, ordinal LIMIT :limit

-- name: embedding.count_stale
SELECT (SELECT count(*) FROM messages WHERE user_id = :user_id AND embedded_with IS NOT :model
    AND embedded_with IS NOT '')
     + (SELECT count(*) FROM summaries WHERE user_id = :user_id AND embedded_with IS NOT :model
         AND embedded_with IS NOT '') AS n
