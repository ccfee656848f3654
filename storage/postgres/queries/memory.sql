-- name: memory.head
-- All that is committed now is below `horizon`, or is read again the next time. Transactions of a time to come stand in
-- rows that were restored from another server. Each row is asked for in the order of an index, because with statistics
-- from before an import the planner takes many rows to match and reads the whole table for the first of them.
SELECT pg_snapshot_xmin(snapshot)::text AS horizon,
       coalesce((SELECT times FROM memory_removals WHERE user_id = :user_id), 0) AS removals,
       EXISTS (SELECT FROM messages WHERE user_id = :user_id AND term_keys IS NULL) AS without_terms,
       (SELECT id FROM messages WHERE user_id = :user_id AND embedded_with IS NULL
        ORDER BY created_at DESC LIMIT 1) IS NOT NULL
       OR (SELECT id FROM summaries WHERE user_id = :user_id AND embedded_with IS NULL
           ORDER BY thread_id LIMIT 1) IS NOT NULL AS without_vectors,
       coalesce((SELECT changed FROM messages WHERE user_id = :user_id ORDER BY changed DESC LIMIT 1)
                > pg_snapshot_xmax(snapshot), false)
       OR coalesce((SELECT changed FROM vectors WHERE user_id = :user_id AND model = :model
                    ORDER BY changed DESC LIMIT 1) > pg_snapshot_xmax(snapshot), false) AS restored
FROM pg_current_snapshot() AS snapshot

-- name: memory.vectors
SELECT langchain_id::text, thread_id, source_type, source_id, role,
       CASE WHEN isfinite(created_at) THEN (extract(epoch FROM created_at) * 1000000)::bigint END,
       vector_send(embedding), changed::text AS transaction
FROM vectors WHERE user_id = :user_id AND model = :model AND changed >= :since::text::xid8
  AND changed <= :until::text::xid8 AND (source_type <> 'summary' OR (thread_id, source_id) NOT IN (
      SELECT thread_id, id FROM summaries WHERE user_id = :user_id AND left_at IS NOT NULL))
ORDER BY changed DESC FETCH FIRST :limit ROWS WITH TIES

-- name: memory.messages
SELECT thread_id, id, seq, role, name,
       CASE WHEN isfinite(created_at) THEN (extract(epoch FROM created_at) * 1000000)::bigint END,
       right(rtrim(right(text, 40)), 1), array_send(term_keys), changed::text AS transaction
FROM messages WHERE user_id = :user_id AND changed >= :since::text::xid8
  AND changed <= :until::text::xid8 AND left_at IS NULL
ORDER BY changed DESC FETCH FIRST :limit ROWS WITH TIES

-- name: memory.renew_messages
UPDATE messages SET changed = pg_current_xact_id() WHERE user_id = :user_id

-- name: memory.renew_vectors
UPDATE vectors SET changed = pg_current_xact_id() WHERE user_id = :user_id
