-- name: refused.add
INSERT INTO refused_messages (user_id, thread_id, key)
SELECT :user_id, :thread_id, value FROM (SELECT value FROM json_each(:keys) LIMIT -1) WHERE true
ON CONFLICT (user_id, thread_id, key) DO NOTHING

-- name: refused.among
SELECT asked.key + 1 AS place FROM json_each(:keys) AS asked JOIN refused_messages AS r ON r.key = asked.value
WHERE r.user_id = :user_id AND r.thread_id = :thread_id
