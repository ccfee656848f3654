-- name: sources.tree
-- UNION drops what was reached before, so that even a circle would end.
WITH RECURSIVE tree AS (
    SELECT s.* FROM summaries AS s WHERE s.user_id = :user_id AND s.thread_id = :thread_id AND s.id = :id
    UNION
    SELECT s.* FROM tree JOIN summaries AS s
      ON s.user_id = :user_id AND s.thread_id = :thread_id AND s.id = ANY(tree.source_ids)
)
SELECT * FROM tree

-- name: sources.of_all
SELECT id, source_ids, left_at FROM summaries
WHERE user_id = :user_id AND thread_id = :thread_id ORDER BY created_at, id

-- name: sources.raw
SELECT * FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids) ORDER BY seq

-- name: sources.next
SELECT source_ids FROM summaries
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids) ORDER BY created_at, id

-- name: sources.newest
SELECT * FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)
ORDER BY seq DESC LIMIT :limit
