-- name: branches.leave
UPDATE messages SET left_at = :moment
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL AND id NOT IN (SELECT value
    FROM json_each(:ids))
  AND seq > coalesce((SELECT min(seq) FROM messages
                      WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value
                          FROM json_each(:ids))), 0)
RETURNING id

-- name: branches.remove
UPDATE messages SET left_at = :moment
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL AND id IN (SELECT value FROM json_each(:ids))
RETURNING id

-- name: branches.come_back
UPDATE messages SET left_at = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NOT NULL AND id IN (SELECT value
    FROM json_each(:ids))
RETURNING id

-- name: branches.summaries_leave
UPDATE summaries SET left_at = :moment
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL AND EXISTS (SELECT 1
    FROM json_each(sound(source_ids)) AS one JOIN json_each(:ids) AS other ON one.value = other.value)
RETURNING id

-- name: branches.summaries_come_back
UPDATE summaries SET left_at = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: branches.whole
SELECT id, message, created_at FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: branches.keep_earlier
INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at,
                      embedded_with, term_keys, facts_read, left_at)
SELECT user_id, thread_id, :earlier_id, (SELECT coalesce(max(seq), 0) + 1 FROM messages
        WHERE user_id = :user_id AND thread_id = :thread_id AND seq < 1099511627776),
       role, name, text, :message, tokens, created_at, '', term_keys, true, :moment
FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id
ON CONFLICT (user_id, thread_id, id) DO NOTHING

-- name: branches.edit
UPDATE messages AS old
SET role = new.role, name = new.name, text = new.text, message = new.message, tokens = new.tokens, facts_read = false,
    embedded_with = CASE WHEN new.role IN ('user', 'assistant', 'agent') AND trim(new.text) <> '' THEN NULL ELSE '' END,
    term_keys = key_bytes(new.term_keys)
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.role') AS role,
    json_extract(value, '$.name') AS name, json_extract(value, '$.text') AS text,
    json_extract(value, '$.message') AS message,
    json_extract(value, '$.tokens') AS tokens, json_extract(value, '$.term_keys') AS term_keys FROM json_each(:rows)
    LIMIT -1) AS new
WHERE old.user_id = :user_id AND old.thread_id = :thread_id AND old.id = new.id

-- name: branches.stale
UPDATE summaries SET rejected = :reason
WHERE user_id = :user_id AND thread_id = :thread_id AND rejected IS NULL AND left_at IS NULL
  AND EXISTS (SELECT 1 FROM json_each(sound(source_ids)) AS one JOIN json_each(:ids) AS other ON one.value = other.value)
RETURNING id
