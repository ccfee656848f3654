-- name: overview.name
SELECT name FROM threads WHERE user_id = :user_id AND thread_id = :thread_id

-- name: overview.openings
-- What each of these threads begins with.
SELECT t.thread_id, (SELECT left(m.text, :characters) FROM messages AS m
                     WHERE m.user_id = :user_id AND m.thread_id = t.thread_id AND m.role = 'user' AND m.left_at IS NULL
                     ORDER BY m.seq LIMIT 1) AS text
FROM threads AS t WHERE t.user_id = :user_id AND t.thread_id = ANY(:ids)

-- name: overview.after
SELECT id FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND (left_at IS NULL OR :with_left)
  AND (:id = '' OR seq > (SELECT seq FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id))
ORDER BY seq LIMIT :limit

-- name: overview.outline
SELECT id, level, source_ids, version FROM summaries
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL ORDER BY created_at, id

-- name: overview.places
SELECT id, seq FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL

-- name: overview.said_tokens
-- What was said before a moment as one, the rest message by message.
SELECT thread_id, max(created_at) AS created_at, sum(tokens) AS tokens FROM messages
WHERE user_id = :user_id AND thread_id = ANY(:threads::text[]) AND left_at IS NULL AND created_at < :since GROUP BY thread_id
UNION ALL
SELECT thread_id, created_at, tokens FROM messages
WHERE user_id = :user_id AND thread_id = ANY(:threads::text[]) AND left_at IS NULL AND created_at >= :since
ORDER BY created_at

-- name: overview.backlog
SELECT (SELECT count(*) FROM messages WHERE user_id = :user_id AND embedded_with IS NULL) AS messages_to_embed,
       (SELECT count(*) FROM summaries WHERE user_id = :user_id AND embedded_with IS NULL) AS summaries_to_embed,
       (SELECT count(*) FROM messages WHERE user_id = :user_id AND role = 'user' AND NOT facts_read
        AND left_at IS NULL) AS messages_to_read,
       (SELECT count(*) FROM summaries WHERE user_id = :user_id AND rejected IS NOT NULL) AS summaries_to_make_again

-- name: overview.sizes
SELECT 'messages' AS kind, count(*) AS number, coalesce(sum(pg_column_size(t.*)), 0)::bigint AS bytes
FROM messages AS t WHERE user_id = :user_id
UNION ALL SELECT 'vectors', count(*), coalesce(sum(pg_column_size(t.*)), 0)::bigint
FROM vectors AS t WHERE user_id = :user_id
UNION ALL SELECT 'summaries', count(*), coalesce(sum(pg_column_size(t.*)), 0)::bigint
FROM summaries AS t WHERE user_id = :user_id
UNION ALL SELECT 'earlier summaries', count(*), coalesce(sum(pg_column_size(t.*)), 0)::bigint
FROM summary_versions AS t WHERE user_id = :user_id
UNION ALL SELECT 'facts', count(*), coalesce(sum(pg_column_size(t.*)), 0)::bigint
FROM facts AS t WHERE user_id = :user_id
UNION ALL SELECT 'pins', count(*), coalesce(sum(pg_column_size(t.*)), 0)::bigint
FROM pins AS t WHERE user_id = :user_id
UNION ALL SELECT 'reports of turns', count(*), coalesce(sum(pg_column_size(t.*)), 0)::bigint
FROM turn_reports AS t WHERE user_id = :user_id
UNION ALL SELECT 'checkpoints', count(*), coalesce(sum(pg_column_size(t.*)), 0)::bigint
+ (SELECT coalesce(sum(pg_column_size(b.*)), 0)::bigint FROM checkpoint_blobs AS b
   WHERE b.thread_id IN (SELECT thread_id FROM threads WHERE user_id = :user_id))
+ (SELECT coalesce(sum(pg_column_size(w.*)), 0)::bigint FROM checkpoint_writes AS w
   WHERE w.thread_id IN (SELECT thread_id FROM threads WHERE user_id = :user_id))
FROM checkpoints AS t WHERE thread_id IN (SELECT thread_id FROM threads WHERE user_id = :user_id)
