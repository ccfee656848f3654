-- name: inspection.messages
SELECT id, seq, role, name, text, message, active, chunk_id, embedded_with, created_at, left_at FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id ORDER BY seq

-- name: inspection.summaries
SELECT * FROM summaries WHERE user_id = :user_id AND thread_id = :thread_id ORDER BY created_at, id

-- name: inspection.vectors
SELECT source_type, source_id, model, count(*) AS n FROM vectors
WHERE user_id = :user_id AND thread_id = :thread_id GROUP BY source_type, source_id, model

-- name: inspection.facts
SELECT id, source_id FROM facts WHERE user_id = :user_id AND thread_id = :thread_id
UNION ALL
SELECT id, source_id FROM pins WHERE user_id = :user_id AND thread_id = :thread_id

-- name: inspection.lock
SELECT pg_advisory_xact_lock(hashtextextended(:user_id || chr(31) || :thread_id, 0))

-- name: inspection.flag_messages
UPDATE messages SET active = :active
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: inspection.flag_summaries
UPDATE summaries SET active = :active
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: inspection.chunk
UPDATE messages SET chunk_id = :chunk_id
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: inspection.place
UPDATE messages SET seq = :seq
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id

-- name: inspection.queue_messages
UPDATE messages SET embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: inspection.queue_summaries
UPDATE summaries SET embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: inspection.read_for_facts
UPDATE messages SET facts_read = true
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)
