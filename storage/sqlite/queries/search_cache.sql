-- name: search_cache.get
SELECT results FROM search_cache WHERE user_id = :user_id AND key = :key AND created_at > ago(:seconds)

-- name: search_cache.put
INSERT INTO search_cache (user_id, key, results, created_at) VALUES (:user_id, :key, :results, now())
ON CONFLICT (user_id, key) DO UPDATE SET results = excluded.results, created_at = excluded.created_at

-- name: search_cache.prune
DELETE FROM search_cache WHERE user_id = :user_id AND (created_at < ago(:seconds)
OR created_at < (
    SELECT created_at FROM search_cache WHERE user_id = :user_id ORDER BY created_at DESC LIMIT 1 OFFSET :kept))
