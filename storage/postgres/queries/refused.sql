-- name: refused.any
SELECT 1 AS found FROM refused_messages WHERE user_id = :user_id AND thread_id = :thread_id LIMIT 1

-- name: refused.add
INSERT INTO refused_messages (user_id, thread_id, key)
SELECT :user_id, :thread_id, key FROM unnest(:keys::uuid[]) AS key
ON CONFLICT (user_id, thread_id, key) DO NOTHING

-- name: refused.among
-- Which of these, counted from 1.
SELECT asked.place::int AS place
FROM unnest(:keys::uuid[]) WITH ORDINALITY AS asked(key, place) JOIN refused_messages AS r ON r.key = asked.key
WHERE r.user_id = :user_id AND r.thread_id = :thread_id
