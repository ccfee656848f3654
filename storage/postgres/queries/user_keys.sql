-- name: user_keys.find
SELECT user_id, key_id, master_id, wrapped, is_complete FROM user_keys WHERE user_id = :user_id

-- name: user_keys.with_id
SELECT user_id, key_id, master_id, wrapped, is_complete FROM user_keys WHERE key_id = :key_id

-- name: user_keys.add
-- Not under a master key that was replaced since. What the user has by then is still to be encrypted.
INSERT INTO user_keys (user_id, key_id, master_id, wrapped, is_complete)
SELECT :user_id, :key_id, :master_id, :wrapped, NOT EXISTS (SELECT 1 FROM threads WHERE user_id = :user_id)
WHERE :user_id = '' OR EXISTS (SELECT 1 FROM user_keys WHERE user_id = '' AND master_id = :master_id)
ON CONFLICT (user_id) DO NOTHING

-- name: user_keys.complete
UPDATE user_keys SET is_complete = true WHERE user_id = :user_id

-- name: user_keys.all
SELECT user_id, key_id, master_id, wrapped, is_complete FROM user_keys ORDER BY user_id

-- name: user_keys.rewrap
UPDATE user_keys SET wrapped = :wrapped, master_id = :master_id WHERE user_id = :user_id

-- name: user_keys.destroy
DELETE FROM user_keys WHERE user_id = :user_id

-- name: user_keys.incomplete
SELECT DISTINCT user_id FROM threads
WHERE user_id NOT IN (SELECT user_id FROM user_keys WHERE is_complete) ORDER BY user_id
