-- name: retention.of_thread
UPDATE threads SET retention = :retention WHERE user_id = :user_id AND thread_id = :thread_id
RETURNING thread_id

-- name: retention.threads
-- A page of all threads with their users: no row of a user is read here but whose thread it is.
SELECT thread_id, user_id, retention FROM threads
WHERE thread_id > :after AND (:all_threads::boolean OR retention IS NOT NULL)
ORDER BY thread_id LIMIT :most

-- name: retention.due
-- How much of some threads is due. `oldest` is the oldest checkpoint of a thread that stays; NULL where all do.
SELECT due.thread_id,
       (SELECT count(*) FROM messages AS m WHERE m.user_id = :user_id AND m.thread_id = due.thread_id
          AND m.created_at < due.messages) AS messages,
       (SELECT count(*) FROM turn_reports AS r WHERE r.user_id = :user_id AND r.thread_id = due.thread_id
          AND r.started_at < due.reports) AS reports,
       (SELECT nullif(min(checkpoint_id) FILTER (WHERE place = 1 OR (place <= due.kept AND checkpoint_id >= due.since)),
                      min(checkpoint_id))
        FROM (SELECT c.checkpoint_id, row_number() OVER (ORDER BY c.checkpoint_id DESC) AS place
              FROM checkpoints AS c WHERE c.thread_id = due.thread_id AND c.checkpoint_ns = '') AS newest) AS oldest
FROM jsonb_to_recordset(:due::jsonb) AS due(
         thread_id text, messages timestamptz, reports timestamptz, kept integer, since text)
     JOIN threads AS t ON t.thread_id = due.thread_id AND t.user_id = :user_id

-- name: retention.messages
SELECT id FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND created_at < :before
ORDER BY created_at LIMIT :most

-- name: retention.checkpoints
-- Those before the oldest that stays. Those of a graph inside another one go with its task; of one with a state of its
-- own the newest stays. The last is of the graph itself: by it the next run sees that this one ended early.
SELECT old.checkpoint_ns, old.checkpoint_id
FROM checkpoints AS old JOIN threads AS t ON t.thread_id = old.thread_id AND t.user_id = :user_id
WHERE old.thread_id = :thread_id AND old.checkpoint_id < :oldest
  AND (old.checkpoint_ns LIKE '%:%' OR EXISTS (
      SELECT 1 FROM checkpoints AS new WHERE new.thread_id = old.thread_id AND new.checkpoint_ns = old.checkpoint_ns
        AND new.checkpoint_id > old.checkpoint_id))
ORDER BY old.checkpoint_ns = '', old.checkpoint_id

-- name: retention.delete_checkpoints
DELETE FROM checkpoints WHERE thread_id = (SELECT thread_id FROM threads WHERE user_id = :user_id
                                             AND thread_id = :thread_id)
AND (checkpoint_ns, checkpoint_id) IN (SELECT * FROM unnest(:namespaces::text[], :ids::text[]))

-- name: retention.delete_writes
DELETE FROM checkpoint_writes WHERE thread_id = (SELECT thread_id FROM threads WHERE user_id = :user_id
                                                   AND thread_id = :thread_id)
AND (checkpoint_ns, checkpoint_id) IN (SELECT * FROM unnest(:namespaces::text[], :ids::text[]))

-- name: retention.delete_blobs
-- Values that no checkpoint has any more.
DELETE FROM checkpoint_blobs WHERE ctid = ANY (ARRAY(
    SELECT old.ctid FROM checkpoint_blobs AS old
    JOIN threads AS t ON t.thread_id = old.thread_id AND t.user_id = :user_id
    WHERE old.thread_id = :thread_id AND NOT EXISTS (
        SELECT FROM checkpoints AS c CROSS JOIN jsonb_each_text(c.checkpoint->'channel_versions') AS value
        WHERE c.thread_id = old.thread_id AND c.checkpoint_ns = old.checkpoint_ns
          AND value.key = old.channel AND value.value = old.version)
    LIMIT :most))
RETURNING channel

-- name: retention.delete_reports
DELETE FROM turn_reports WHERE user_id = :user_id AND thread_id = :thread_id AND turn IN (
    SELECT turn FROM turn_reports WHERE user_id = :user_id AND thread_id = :thread_id AND started_at < :before
    LIMIT :most)
RETURNING turn

-- name: retention.search_results
SELECT count(*) AS due FROM search_cache WHERE created_at < :before

-- name: retention.delete_search_results
DELETE FROM search_cache WHERE key IN (SELECT key FROM search_cache WHERE created_at < :before LIMIT :most)
RETURNING key

-- name: retention.keep_run
INSERT INTO retention_runs (started_at, report) VALUES (:started_at, :report) ON CONFLICT (started_at) DO NOTHING

-- name: retention.prune_runs
DELETE FROM retention_runs
WHERE started_at < (SELECT started_at FROM retention_runs ORDER BY started_at DESC LIMIT 1 OFFSET :most)

-- name: retention.runs
SELECT report FROM retention_runs ORDER BY started_at DESC LIMIT :most
