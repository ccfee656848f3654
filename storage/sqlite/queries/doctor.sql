-- name: doctor.queue_messages
UPDATE messages SET embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: doctor.queue_summaries
UPDATE summaries SET embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: doctor.read_for_facts
UPDATE messages SET facts_read = true
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: doctor.read_again
UPDATE messages SET facts_read = false
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))
