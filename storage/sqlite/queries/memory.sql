-- name: memory.head
SELECT CAST(last + 1 AS text) AS horizon,
       coalesce((SELECT times FROM memory_removals WHERE user_id = :user_id), 0) AS removals,
       EXISTS (SELECT 1 FROM messages WHERE user_id = :user_id AND term_keys IS NULL) AS without_terms,
       EXISTS (SELECT 1 FROM messages WHERE user_id = :user_id AND embedded_with IS NULL)
       OR EXISTS (SELECT 1 FROM summaries WHERE user_id = :user_id AND embedded_with IS NULL) AS without_vectors,
       0 AS restored
FROM change_counter

-- name: memory.vectors
-- No two rows were changed as the same number: none is left out between two batches.
SELECT langchain_id, thread_id, source_type, source_id, role, micros(created_at), embedding, CAST(changed AS integer)
FROM vectors WHERE user_id = :user_id AND model = :model AND changed >= CAST(:since AS integer)
  AND changed <= CAST(:until AS integer) AND (source_type <> 'summary' OR (thread_id, source_id) NOT IN (
      SELECT thread_id, id FROM summaries WHERE user_id = :user_id AND left_at IS NOT NULL))
ORDER BY changed DESC LIMIT :limit

-- name: memory.messages
SELECT thread_id, id, seq, role, name, micros(created_at), ending(text), term_keys, CAST(changed AS integer)
FROM messages WHERE user_id = :user_id AND changed >= CAST(:since AS integer)
  AND changed <= CAST(:until AS integer) AND left_at IS NULL
ORDER BY changed DESC LIMIT :limit

-- name: memory.renew_messages
-- A counter, not transactions: none of a time to come is ever found, so this is never asked for.
UPDATE messages SET seq = seq WHERE user_id = :user_id

-- name: memory.renew_vectors
UPDATE vectors SET role = role WHERE user_id = :user_id
