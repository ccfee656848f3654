-- name: summaries.some
SELECT * FROM summaries WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value
    FROM json_each(:ids))

-- name: summaries.messages
SELECT * FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: summaries.above
SELECT * FROM summaries WHERE user_id = :user_id AND thread_id = :thread_id AND EXISTS (SELECT 1
    FROM json_each(source_ids) AS one WHERE one.value IN (SELECT value FROM json_each(:ids)))
ORDER BY created_at, id
