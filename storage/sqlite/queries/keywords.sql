-- name: keywords.set_terms
UPDATE messages SET term_keys = key_bytes(done.keys)
FROM (SELECT json_extract(value, '$.thread_id') AS thread_id, json_extract(value, '$.id') AS id,
    json_extract(value, '$.keys') AS keys FROM json_each(:rows) LIMIT -1) AS done
WHERE user_id = :user_id AND messages.thread_id = done.thread_id AND messages.id = done.id

-- name: keywords.without_terms
SELECT thread_id, id, role, name, text, created_at, json_extract(sound(message), '$.data.tool_calls') AS calls
FROM messages WHERE user_id = :user_id AND term_keys IS NULL LIMIT :limit
