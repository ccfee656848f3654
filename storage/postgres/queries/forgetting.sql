-- name: forgetting.said
SELECT thread_id, id, seq, role, text, created_at AS said_at,
       CASE WHEN role <> 'user' AND message #> '{data,tool_calls,0}' IS NOT NULL
            THEN message #> '{data,tool_calls}' END AS calls
FROM messages
WHERE user_id = :user_id AND role IN ('user', 'assistant', 'agent', 'tool') ORDER BY thread_id, seq
