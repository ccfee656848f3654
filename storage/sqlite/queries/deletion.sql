-- name: deletion.threads
SELECT thread_id FROM threads
WHERE user_id = :user_id AND (:thread_id IS NULL OR thread_id = :thread_id) ORDER BY thread_id

-- name: deletion.counts
SELECT (SELECT count(*) FROM messages WHERE user_id = :user_id AND thread_id IN (SELECT value
    FROM json_each(:threads))) AS messages,
       (SELECT count(*) FROM summaries WHERE user_id = :user_id AND thread_id IN (SELECT value
           FROM json_each(:threads))) AS summaries,
       (SELECT count(*) FROM facts WHERE user_id = :user_id AND thread_id IN (SELECT value
           FROM json_each(:threads))) AS facts,
       (SELECT count(*) FROM pins WHERE user_id = :user_id AND thread_id IN (SELECT value
           FROM json_each(:threads))) AS pins

-- name: deletion.vectors
DELETE FROM vectors WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))

-- name: deletion.facts
DELETE FROM facts WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))

-- name: deletion.pins
DELETE FROM pins WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))

-- name: deletion.turn_reports
DELETE FROM turn_reports WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))

-- name: deletion.summary_versions
DELETE FROM summary_versions WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))

-- name: deletion.summaries
DELETE FROM summaries WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))

-- name: deletion.messages
DELETE FROM messages WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))

-- name: deletion.checkpoint_writes
DELETE FROM writes WHERE thread_id IN (
    SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads)))

-- name: deletion.checkpoint_blobs
-- There are none beside the checkpoints.
SELECT :user_id

-- name: deletion.checkpoints
DELETE FROM checkpoints WHERE thread_id IN (
    SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads)))

-- name: deletion.own_threads
DELETE FROM threads WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))
