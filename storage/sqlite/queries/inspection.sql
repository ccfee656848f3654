-- name: inspection.lock
-- A writer is alone anyway.
SELECT :user_id

-- name: inspection.flag_messages
UPDATE messages SET active = :active
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: inspection.flag_summaries
UPDATE summaries SET active = :active
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: inspection.chunk
UPDATE messages SET chunk_id = :chunk_id
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: inspection.queue_messages
UPDATE messages SET embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: inspection.queue_summaries
UPDATE summaries SET embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: inspection.read_for_facts
UPDATE messages SET facts_read = true
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))
