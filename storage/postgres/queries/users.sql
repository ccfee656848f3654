-- name: users.lock
SELECT pg_advisory_xact_lock(hashtextextended(:user_id, 2))

-- name: users.snapshot
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: users.not_alone
SELECT pg_advisory_xact_lock_shared(hashtextextended(:user_id, 2))
