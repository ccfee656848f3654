-- name: forgetting.said
SELECT thread_id, id, seq, role, text, created_at AS said_at FROM messages
WHERE user_id = :user_id AND role IN ('user', 'assistant', 'agent') ORDER BY thread_id, seq

-- name: forgetting.place
UPDATE messages SET seq = :seq WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id
