-- name: doctor.messages
SELECT id, seq, role, name, text, message, embedded_with, created_at, left_at FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id ORDER BY seq

-- name: doctor.summaries
SELECT id, source_ids, 'assistant' AS role, NULL AS name, content AS text, embedded_with, left_at FROM summaries
WHERE user_id = :user_id AND thread_id = :thread_id ORDER BY created_at, id

-- name: doctor.vectors
SELECT source_id, model, count(*) AS n FROM vectors
WHERE user_id = :user_id AND thread_id = :thread_id GROUP BY source_id, model

-- name: doctor.facts
SELECT id, source_id FROM facts WHERE user_id = :user_id AND thread_id = :thread_id
UNION ALL
SELECT id, source_id FROM pins WHERE user_id = :user_id AND thread_id = :thread_id

-- name: doctor.renumber
UPDATE messages SET seq = new.seq FROM unnest(:ids::text[], :numbers::bigint[]) AS new(id, seq)
WHERE user_id = :user_id AND thread_id = :thread_id AND messages.id = new.id

-- name: doctor.queue_messages
UPDATE messages SET embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: doctor.queue_summaries
UPDATE summaries SET embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: doctor.read_for_facts
UPDATE messages SET facts_read = true
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: doctor.forgotten_numbers
SELECT seq FROM forgotten_numbers WHERE user_id = :user_id AND thread_id = :thread_id
