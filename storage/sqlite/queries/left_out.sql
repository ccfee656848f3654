-- name: left_out.add
INSERT INTO left_out (user_id, thread_id, key, times)
SELECT :user_id, :thread_id, value, count(*) FROM json_each(:keys) WHERE true GROUP BY value
ON CONFLICT (user_id, thread_id, key) DO UPDATE SET
    times = CASE WHEN left_out.times BETWEEN 0 AND 1000000 THEN left_out.times ELSE 0 END + excluded.times

-- name: left_out.among
SELECT asked.key + 1 AS place, l.times FROM json_each(:keys) AS asked JOIN left_out AS l ON l.key = asked.value
WHERE l.user_id = :user_id AND l.thread_id = :thread_id ORDER BY place
