-- name: reports.keep
-- What was forgotten while the turn ran may be quoted by what it remembered before.
INSERT INTO turn_reports (user_id, thread_id, turn, started_at, report)
VALUES (:user_id, :thread_id, :turn, :started_at,
        CASE WHEN EXISTS (SELECT 1 FROM deletions WHERE user_id = :user_id AND deleted_at >= :since) THEN :bare::jsonb
             ELSE :report::jsonb END)
ON CONFLICT (user_id, thread_id, turn) DO UPDATE SET started_at = excluded.started_at, report = excluded.report
RETURNING EXISTS (SELECT 1 FROM deletions WHERE user_id = :user_id AND deleted_at >= :since) AS is_bare

-- name: reports.find
SELECT report FROM turn_reports
WHERE user_id = :user_id AND thread_id = :thread_id AND turn = :turn

-- name: reports.last
SELECT max(turn) AS turn FROM turn_reports WHERE user_id = :user_id AND thread_id = :thread_id

-- name: reports.between
SELECT turn, started_at, report FROM turn_reports
WHERE user_id = :user_id AND thread_id = :thread_id AND started_at >= :since AND started_at <= :until
ORDER BY turn DESC LIMIT :limit

-- name: reports.newest
SELECT thread_id, turn, started_at, report FROM turn_reports
WHERE user_id = :user_id AND (:thread_id::text IS NULL OR thread_id = :thread_id)
ORDER BY started_at DESC LIMIT :limit
