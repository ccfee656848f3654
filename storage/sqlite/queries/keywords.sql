-- name: keywords.set_terms
UPDATE messages SET term_keys = key_bytes(done.keys)
FROM (SELECT json_extract(value, '$.thread_id') AS thread_id, json_extract(value, '$.id') AS id,
    json_extract(value, '$.keys') AS keys FROM json_each(:rows) LIMIT -1) AS done
WHERE user_id = :user_id AND messages.thread_id = done.thread_id AND messages.id = done.id
