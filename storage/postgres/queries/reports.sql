-- name: reports.keep
INSERT INTO turn_reports (user_id, thread_id, turn, started_at, report)
VALUES (:user_id, :thread_id, :turn, :started_at, :report)
ON CONFLICT (user_id, thread_id, turn) DO UPDATE SET started_at = excluded.started_at, report = excluded.report

-- name: reports.find
SELECT report FROM turn_reports
WHERE user_id = :user_id AND thread_id = :thread_id AND turn = :turn

-- name: reports.last
SELECT max(turn) AS turn FROM turn_reports WHERE user_id = :user_id AND thread_id = :thread_id
