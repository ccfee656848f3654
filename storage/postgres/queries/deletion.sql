-- name: deletion.threads
SELECT thread_id FROM threads
WHERE user_id = :user_id AND (:thread_id::text IS NULL OR thread_id = :thread_id) ORDER BY thread_id

-- name: deletion.counts
SELECT (SELECT count(*) FROM messages WHERE user_id = :user_id AND thread_id = ANY(:threads)) AS messages,
       (SELECT count(*) FROM summaries WHERE user_id = :user_id AND thread_id = ANY(:threads)) AS summaries,
       (SELECT count(*) FROM facts WHERE user_id = :user_id AND thread_id = ANY(:threads)) AS facts,
       (SELECT count(*) FROM pins WHERE user_id = :user_id AND thread_id = ANY(:threads)) AS pins

-- name: deletion.vectors
DELETE FROM vectors WHERE user_id = :user_id AND thread_id = ANY(:threads)

-- name: deletion.facts
DELETE FROM facts WHERE user_id = :user_id AND thread_id = ANY(:threads)

-- name: deletion.pins
DELETE FROM pins WHERE user_id = :user_id AND thread_id = ANY(:threads)

-- name: deletion.turn_reports
DELETE FROM turn_reports WHERE user_id = :user_id AND thread_id = ANY(:threads)

-- name: deletion.summary_versions
DELETE FROM summary_versions WHERE user_id = :user_id AND thread_id = ANY(:threads)

-- name: deletion.summaries
DELETE FROM summaries WHERE user_id = :user_id AND thread_id = ANY(:threads)

-- name: deletion.messages
DELETE FROM messages WHERE user_id = :user_id AND thread_id = ANY(:threads)

-- name: deletion.checkpoint_writes
DELETE FROM checkpoint_writes USING threads AS t
WHERE t.user_id = :user_id AND t.thread_id = checkpoint_writes.thread_id AND t.thread_id = ANY(:threads)

-- name: deletion.checkpoint_blobs
DELETE FROM checkpoint_blobs USING threads AS t
WHERE t.user_id = :user_id AND t.thread_id = checkpoint_blobs.thread_id AND t.thread_id = ANY(:threads)

-- name: deletion.checkpoints
DELETE FROM checkpoints USING threads AS t
WHERE t.user_id = :user_id AND t.thread_id = checkpoints.thread_id AND t.thread_id = ANY(:threads)

-- name: deletion.own_threads
DELETE FROM threads WHERE user_id = :user_id AND thread_id = ANY(:threads)
