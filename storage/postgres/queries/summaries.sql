-- name: summaries.names
SELECT thread_id, id FROM summaries WHERE user_id = :user_id

-- name: summaries.some
SELECT * FROM summaries WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: summaries.messages
SELECT * FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: summaries.rejected
SELECT * FROM summaries WHERE user_id = :user_id AND thread_id = :thread_id AND rejected IS NOT NULL
ORDER BY tries, created_at, id LIMIT :limit

-- name: summaries.above
SELECT * FROM summaries WHERE user_id = :user_id AND thread_id = :thread_id AND source_ids && :ids::text[]
ORDER BY created_at, id

-- name: summaries.keep_old
INSERT INTO summary_versions (user_id, thread_id, id, version, content, method, model, tokens, rejected, replaced_at)
SELECT user_id, thread_id, id, version, content, method, model, tokens, rejected, :replaced_at FROM summaries
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id AND version < :version
ON CONFLICT (user_id, thread_id, id, version) DO NOTHING

-- name: summaries.replace
UPDATE summaries SET content = :content, method = :method, model = :model, tokens = :tokens,
                     covers = :covers, rejected = :rejected, version = :version, tries = 0,
                     embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id AND version < :version

-- name: summaries.tried
UPDATE summaries SET tries = tries + CASE WHEN tries < 2147483647 THEN 1 ELSE 0 END
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id

-- name: summaries.versions
SELECT version, content, method, model, tokens, rejected, replaced_at FROM summary_versions
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id ORDER BY version
