-- name: left_out.any
SELECT 1 AS found FROM left_out WHERE user_id = :user_id AND thread_id = :thread_id LIMIT 1

-- name: left_out.add
INSERT INTO left_out (user_id, thread_id, key, times)
SELECT :user_id, :thread_id, key, count(*) FROM unnest(:keys::uuid[]) AS key GROUP BY key
ON CONFLICT (user_id, thread_id, key) DO UPDATE SET
    times = CASE WHEN left_out.times BETWEEN 0 AND 1000000 THEN left_out.times ELSE 0 END + excluded.times

-- name: left_out.among
-- Which of these, counted from 1.
SELECT asked.place::int AS place, l.times
FROM unnest(:keys::uuid[]) WITH ORDINALITY AS asked(key, place) JOIN left_out AS l ON l.key = asked.key
WHERE l.user_id = :user_id AND l.thread_id = :thread_id ORDER BY place
