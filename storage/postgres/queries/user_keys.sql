-- name: user_keys.find
SELECT owner, key_id, master_id, wrapped, is_complete FROM user_keys WHERE owner = :owner

-- name: user_keys.with_id
SELECT owner, key_id, master_id, wrapped, is_complete FROM user_keys WHERE key_id = :key_id

-- name: user_keys.has_threads
SELECT EXISTS (SELECT 1 FROM threads WHERE user_id = :user_id) AS found

-- name: user_keys.add
-- Not under a master key that was replaced since.
INSERT INTO user_keys (owner, key_id, master_id, wrapped, is_complete)
SELECT :owner, :key_id, :master_id, :wrapped, :is_complete
WHERE :owner = '' OR EXISTS (SELECT 1 FROM user_keys WHERE owner = '' AND master_id = :master_id)
ON CONFLICT (owner) DO NOTHING

-- name: user_keys.complete
UPDATE user_keys SET is_complete = true WHERE owner = :owner

-- name: user_keys.all
SELECT owner, key_id, master_id, wrapped, is_complete FROM user_keys ORDER BY owner

-- name: user_keys.rewrap
UPDATE user_keys SET wrapped = :wrapped, master_id = :master_id WHERE owner = :owner

-- name: user_keys.destroy
DELETE FROM user_keys WHERE owner = :owner

-- name: user_keys.incomplete
SELECT DISTINCT user_id FROM threads
WHERE user_id NOT IN (SELECT owner FROM user_keys WHERE is_complete) ORDER BY user_id

-- name: user_keys.empty_cache
DELETE FROM search_cache
