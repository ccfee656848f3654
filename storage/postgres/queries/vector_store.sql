-- name: vector_store.adopt
WITH m AS (UPDATE messages SET embedded_with = NULL
           WHERE user_id = :user_id AND embedded_with <> '' AND (embedded_with = :name) = :lost RETURNING 1),
     s AS (UPDATE summaries SET embedded_with = NULL
           WHERE user_id = :user_id AND embedded_with <> '' AND (embedded_with = :name) = :lost RETURNING 1)
SELECT (SELECT count(*) FROM m) + (SELECT count(*) FROM s) AS n

-- name: vector_store.rows
SELECT found.source_type, found.source_id, found.thread_id, coalesce(m.role, 'assistant') AS role,
       coalesce(m.created_at, s.created_at) AS created_at, found.cosine
FROM unnest(:types::text[], :threads::text[], :ids::text[], :cosines::float8[])
     AS found(source_type, thread_id, source_id, cosine)
LEFT JOIN messages AS m ON m.user_id = :user_id AND m.thread_id = found.thread_id AND m.id = found.source_id
                       AND found.source_type = 'message'
LEFT JOIN summaries AS s ON s.user_id = :user_id AND s.thread_id = found.thread_id AND s.id = found.source_id
                        AND found.source_type = 'summary'
WHERE m.id IS NOT NULL OR s.id IS NOT NULL
ORDER BY found.cosine DESC, found.source_id LIMIT :limit

-- name: vector_store.embedded
(SELECT 'message' AS source_type, thread_id, id, role, name, text, 1 AS version,
        message #> '{data,tool_calls}' AS calls FROM messages
 WHERE user_id = :user_id AND thread_id = ANY(:threads) AND (:ids::text[] IS NULL OR id = ANY(:ids))
   AND embedded_with = :name LIMIT :limit)
UNION ALL
(SELECT 'summary', thread_id, id, 'assistant', NULL, content, version, NULL FROM summaries
 WHERE user_id = :user_id AND thread_id = ANY(:threads) AND (:ids::text[] IS NULL OR id = ANY(:ids))
   AND embedded_with = :name LIMIT :limit)
