-- name: search_cache.get
SELECT results FROM search_cache WHERE key = :key AND created_at > ago(:seconds)

-- name: search_cache.put
INSERT INTO search_cache (key, results, created_at) VALUES (:key, :results, now())
ON CONFLICT (key) DO UPDATE SET results = excluded.results, created_at = excluded.created_at

-- name: search_cache.prune
DELETE FROM search_cache WHERE created_at < ago(:seconds)
OR created_at < (SELECT created_at FROM search_cache ORDER BY created_at DESC LIMIT 1 OFFSET :kept)
