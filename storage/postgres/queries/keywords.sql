-- name: keywords.without_terms
SELECT thread_id, id, role, name, text, created_at, message #> '{data,tool_calls}' AS calls FROM messages
WHERE user_id = :user_id AND term_keys IS NULL LIMIT :limit

-- name: keywords.set_terms
UPDATE messages SET term_keys = ARRAY(SELECT jsonb_array_elements_text(done.keys)::bigint)
FROM jsonb_to_recordset(:rows) AS done(thread_id text, id text, keys jsonb)
WHERE user_id = :user_id AND messages.thread_id = done.thread_id AND messages.id = done.id
