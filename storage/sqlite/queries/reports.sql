-- name: reports.keep
INSERT INTO turn_reports (user_id, thread_id, turn, started_at, report)
VALUES (:user_id, :thread_id, :turn, :started_at,
        CASE WHEN EXISTS (SELECT 1 FROM deletions WHERE user_id = :user_id AND deleted_at >= :since) THEN :bare
             ELSE :report END)
ON CONFLICT (user_id, thread_id, turn) DO UPDATE SET started_at = excluded.started_at, report = excluded.report
RETURNING EXISTS (SELECT 1 FROM deletions WHERE user_id = :user_id AND deleted_at >= :since) AS is_bare

-- name: reports.last
SELECT max(turn) AS turn FROM turn_reports
WHERE user_id = :user_id AND thread_id = :thread_id AND typeof(turn) = 'integer'

-- name: reports.newest
SELECT thread_id, turn, started_at, report FROM turn_reports
WHERE user_id = :user_id AND (:thread_id IS NULL OR thread_id = :thread_id)
ORDER BY started_at DESC LIMIT :limit
