-- name: users.lock
SELECT pg_advisory_xact_lock(hashtextextended(:user_id, 2))

-- name: users.snapshot
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: users.not_alone
SELECT pg_advisory_xact_lock_shared(hashtextextended(:user_id, 2))

-- name: users.defaults
SELECT enabled, threshold_name, threshold FROM user_defaults WHERE user_id = :user_id

-- name: users.set_defaults
INSERT INTO user_defaults (user_id, enabled, threshold_name, threshold)
VALUES (:user_id, :enabled, :threshold_name, :threshold)
ON CONFLICT (user_id) DO UPDATE SET enabled = excluded.enabled, threshold_name = excluded.threshold_name,
    threshold = excluded.threshold

-- name: users.drop_defaults
DELETE FROM user_defaults WHERE user_id = :user_id
