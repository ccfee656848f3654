-- name: users.lock
-- A writer is alone anyway.
SELECT :user_id

-- name: users.snapshot
-- A writer is alone anyway.
SELECT :user_id

-- name: users.not_alone
-- A writer is alone anyway.
SELECT :user_id
