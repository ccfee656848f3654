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

-- name: doctor.drop_version
DELETE FROM summary_versions
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id
  AND (version = :version OR :version IS NULL AND typeof(version) <> 'integer')

-- name: doctor.drop_report
DELETE FROM turn_reports WHERE user_id = :user_id AND thread_id = :thread_id
  AND (turn = :turn OR :turn IS NULL AND typeof(turn) <> 'integer')
