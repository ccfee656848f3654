-- name: spaces.rights
SELECT may FROM space_members WHERE user_id = :user_id AND space_id = :space_id

-- name: spaces.give
INSERT INTO space_members (user_id, space_id, may) VALUES (:user_id, :space_id, :may)
ON CONFLICT (user_id, space_id) DO UPDATE SET may = excluded.may

-- name: spaces.take
DELETE FROM space_members WHERE user_id = :user_id AND space_id = :space_id

-- name: spaces.drop
DELETE FROM space_members WHERE user_id = :user_id

-- name: spaces.of_user
SELECT space_id, may FROM space_members WHERE user_id = :user_id ORDER BY space_id

-- name: spaces.members
SELECT user_id, may FROM space_members WHERE space_id = :space_id ORDER BY user_id
