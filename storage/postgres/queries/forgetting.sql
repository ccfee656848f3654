-- name: forgetting.said
SELECT thread_id, id, seq, role, text, created_at AS said_at FROM messages
WHERE user_id = :user_id AND role IN ('user', 'assistant', 'agent') ORDER BY thread_id, seq
