-- name: vector_store.rows
SELECT found.source_type, found.source_id, found.thread_id, coalesce(m.role, 'assistant') AS role,
       coalesce(m.created_at, s.created_at) AS created_at, found.cosine
FROM (SELECT json_extract(value, '$[0]') AS source_type, json_extract(value, '$[1]') AS thread_id,
    json_extract(value, '$[2]') AS source_id, json_extract(value, '$[3]') AS cosine FROM json_each(zipped(:types,
    :threads, :ids, :cosines)) LIMIT -1) AS found
LEFT JOIN messages AS m ON m.user_id = :user_id AND m.thread_id = found.thread_id AND m.id = found.source_id
                       AND found.source_type = 'message'
LEFT JOIN summaries AS s ON s.user_id = :user_id AND s.thread_id = found.thread_id AND s.id = found.source_id
                        AND found.source_type = 'summary'
WHERE m.id IS NOT NULL OR s.id IS NOT NULL
ORDER BY found.cosine DESC, found.source_id LIMIT :limit

-- name: vector_store.embedded
SELECT * FROM (SELECT 'message' AS source_type, thread_id, id, role, name, text, 1 AS version,
        json_extract(sound(message), '$.data.tool_calls') AS calls FROM messages
 WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))
   AND (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids))) AND embedded_with = :name LIMIT :limit)
UNION ALL
SELECT * FROM (SELECT 'summary', thread_id, id, 'assistant', NULL, content, version, NULL FROM summaries
 WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))
   AND (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids))) AND embedded_with = :name LIMIT :limit)
