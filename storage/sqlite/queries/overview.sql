-- name: overview.openings
SELECT t.thread_id, (SELECT substr(m.text, 1, :characters) FROM messages AS m
                     WHERE m.user_id = :user_id AND m.thread_id = t.thread_id AND m.role = 'user' AND m.left_at IS NULL
                     ORDER BY m.seq LIMIT 1) AS text
FROM threads AS t WHERE t.user_id = :user_id AND t.thread_id IN (SELECT value FROM json_each(:ids))

-- name: overview.said_tokens
-- What was said before a moment as one, the rest message by message.
SELECT thread_id, max(created_at) AS created_at, sum(tokens) AS tokens FROM messages
WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads)) AND left_at IS NULL AND created_at < :since GROUP BY thread_id
UNION ALL
SELECT thread_id, created_at, tokens FROM messages
WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads)) AND left_at IS NULL AND created_at >= :since
ORDER BY created_at

-- name: overview.sizes
SELECT 'messages' AS kind, count(*) AS number,
       coalesce(sum(length(CAST(text AS blob)) + length(CAST(message AS blob)) + coalesce(length(term_keys), 0)), 0) AS bytes
FROM messages WHERE user_id = :user_id
UNION ALL SELECT 'vectors', count(*), coalesce(sum(length(CAST(content AS blob)) + length(embedding)), 0)
FROM vectors WHERE user_id = :user_id
UNION ALL SELECT 'summaries', count(*), coalesce(sum(length(CAST(content AS blob)) + length(source_ids)), 0)
FROM summaries WHERE user_id = :user_id
UNION ALL SELECT 'earlier summaries', count(*), coalesce(sum(length(CAST(content AS blob))), 0)
FROM summary_versions WHERE user_id = :user_id
UNION ALL SELECT 'facts', count(*), coalesce(sum(length(CAST(text AS blob)) + length(terms) + length(term_keys)), 0)
FROM facts WHERE user_id = :user_id
UNION ALL SELECT 'pins', count(*), coalesce(sum(length(CAST(text AS blob))), 0) FROM pins WHERE user_id = :user_id
UNION ALL SELECT 'reports of turns', count(*), coalesce(sum(length(CAST(report AS blob))), 0)
FROM turn_reports WHERE user_id = :user_id
UNION ALL SELECT 'checkpoints', count(*), coalesce(sum(length(checkpoint)), 0)
+ (SELECT coalesce(sum(length(value)), 0) FROM writes
   WHERE thread_id IN (SELECT thread_id FROM threads WHERE user_id = :user_id))
FROM checkpoints WHERE thread_id IN (SELECT thread_id FROM threads WHERE user_id = :user_id)
