-- name: search_cache.get
SELECT results FROM search_cache
WHERE user_id = :user_id AND key = :key AND created_at > now() - make_interval(secs => :seconds::float)

-- name: search_cache.put
INSERT INTO search_cache (user_id, key, results) VALUES (:user_id, :key, :results)
ON CONFLICT (user_id, key) DO UPDATE SET results = EXCLUDED.results, created_at = now()

-- name: search_cache.prune
DELETE FROM search_cache WHERE user_id = :user_id AND (created_at < now() - make_interval(secs => :seconds::float)
OR created_at < (
    SELECT created_at FROM search_cache WHERE user_id = :user_id ORDER BY created_at DESC OFFSET :kept LIMIT 1))
