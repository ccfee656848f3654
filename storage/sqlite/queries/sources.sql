-- name: sources.tree
WITH RECURSIVE tree AS (
    SELECT s.* FROM summaries AS s WHERE s.user_id = :user_id AND s.thread_id = :thread_id AND s.id = :id
    UNION
    SELECT s.* FROM tree JOIN summaries AS s
      ON s.user_id = :user_id AND s.thread_id = :thread_id AND s.id IN (SELECT value FROM json_each(sound(tree.source_ids)))
)
SELECT * FROM tree

-- name: sources.raw
SELECT * FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value
    FROM json_each(:ids)) ORDER BY seq

-- name: sources.next
SELECT source_ids FROM summaries
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))
    ORDER BY created_at, id

-- name: sources.newest
SELECT * FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))
ORDER BY seq DESC LIMIT :limit
