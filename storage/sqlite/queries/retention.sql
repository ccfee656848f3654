-- name: retention.threads
SELECT thread_id, user_id, retention FROM threads
WHERE thread_id > :after AND (:all_threads OR retention IS NOT NULL)
ORDER BY thread_id LIMIT :most

-- name: retention.due
SELECT t.thread_id,
       (SELECT count(*) FROM messages AS m WHERE m.user_id = :user_id AND m.thread_id = t.thread_id
          AND m.created_at < json_extract(due.value, '$.messages')) AS messages,
       (SELECT count(*) FROM turn_reports AS r WHERE r.user_id = :user_id AND r.thread_id = t.thread_id
          AND r.started_at < json_extract(due.value, '$.reports')) AS reports,
       (SELECT nullif(min(checkpoint_id) FILTER (WHERE place = 1 OR (
                          place <= json_extract(due.value, '$.kept')
                          AND checkpoint_id >= json_extract(due.value, '$.since'))), min(checkpoint_id))
        FROM (SELECT c.checkpoint_id, row_number() OVER (ORDER BY c.checkpoint_id DESC) AS place
              FROM checkpoints AS c WHERE c.thread_id = t.thread_id AND c.checkpoint_ns = '') AS newest) AS oldest
FROM json_each(:due) AS due
     JOIN threads AS t ON t.thread_id = json_extract(due.value, '$.thread_id') AND t.user_id = :user_id

-- name: retention.delete_checkpoints
DELETE FROM checkpoints WHERE thread_id = (SELECT thread_id FROM threads WHERE user_id = :user_id
                                             AND thread_id = :thread_id)
AND (checkpoint_ns, checkpoint_id) IN (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(zipped(:namespaces, :ids)))

-- name: retention.delete_writes
DELETE FROM writes WHERE thread_id = (SELECT thread_id FROM threads WHERE user_id = :user_id
                                        AND thread_id = :thread_id)
AND (checkpoint_ns, checkpoint_id) IN (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(zipped(:namespaces, :ids)))

-- name: retention.delete_blobs
-- The values stand in the checkpoints.
SELECT 1 WHERE :user_id IS NULL
