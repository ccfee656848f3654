-- name: doctor.thread
SELECT 'thread' AS kind, thread_id AS id, name, created_at, retention FROM threads
WHERE user_id = :user_id AND thread_id = :thread_id

-- name: doctor.mend_thread
UPDATE threads SET created_at = :created_at, name = :name, retention = :retention
WHERE user_id = :user_id AND thread_id = :thread_id

-- name: doctor.name_message
-- A message whose id is another one than it says has the one it says, if no other has that.
UPDATE messages SET id = :named
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id AND NOT EXISTS (
    SELECT 1 FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = :named)

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

-- name: doctor.queue_messages
UPDATE messages SET embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: doctor.queue_summaries
UPDATE summaries SET embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: doctor.read_for_facts
UPDATE messages SET facts_read = true
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: doctor.read_again
UPDATE messages SET facts_read = false
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: doctor.versions
SELECT * FROM summary_versions WHERE user_id = :user_id AND thread_id = :thread_id

-- name: doctor.all_facts
-- An end that no calendar has comes as none.
SELECT *, valid_to IS NOT NULL AS has_end FROM facts WHERE user_id = :user_id AND thread_id = :thread_id

-- name: doctor.all_pins
SELECT * FROM pins WHERE user_id = :user_id AND thread_id = :thread_id

-- name: doctor.reports
SELECT * FROM turn_reports WHERE user_id = :user_id AND thread_id = :thread_id

-- name: doctor.each_vector
SELECT langchain_id AS id, source_id, role, created_at, vector_dims(embedding) AS dimensions FROM vectors
WHERE user_id = :user_id AND thread_id = :thread_id

-- name: doctor.mend_message
-- A damaged number becomes the first that no message of the thread has.
UPDATE messages SET seq = CASE WHEN :numbered THEN seq ELSE (
        SELECT min(free.n) FROM (SELECT 1 AS n UNION ALL
            SELECT seq + 1 FROM messages
            WHERE user_id = :user_id AND thread_id = :thread_id AND seq BETWEEN 1 AND 1099511627775) AS free
        WHERE free.n NOT IN (SELECT seq FROM messages WHERE user_id = :user_id AND thread_id = :thread_id)) END,
    role = :role, name = :mended_name, text = :mended_text, message = :message, tokens = :tokens,
    created_at = :created_at, embedded_with = NULL, term_keys = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id

-- name: doctor.mend_summary
UPDATE summaries SET level = :level, content = :content, source_ids = :source_ids, method = :method, model = :model,
    tokens = :tokens, covers = :covers, rejected = :rejected, version = :version, created_at = :created_at,
    embedded_with = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id

-- name: doctor.mend_version
UPDATE summary_versions SET content = :content, method = :method, model = :model, tokens = :tokens,
    rejected = :rejected, replaced_at = :replaced_at
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id AND version = :version

-- name: doctor.drop_summary
DELETE FROM summaries WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id

-- name: doctor.drop_version
DELETE FROM summary_versions
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id AND version = :version

-- name: doctor.drop_fact
DELETE FROM facts WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id

-- name: doctor.drop_pin
DELETE FROM pins WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id

-- name: doctor.drop_report
DELETE FROM turn_reports WHERE user_id = :user_id AND thread_id = :thread_id AND turn = :turn

-- name: doctor.drop_vector
DELETE FROM vectors WHERE user_id = :user_id AND thread_id = :thread_id AND langchain_id = :id

-- name: doctor.forgotten_numbers
SELECT seq FROM forgotten_numbers WHERE user_id = :user_id AND thread_id = :thread_id
