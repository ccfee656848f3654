-- name: archive.lock_thread
-- A writer is alone anyway.
SELECT :user_id

-- name: archive.own
INSERT INTO threads (thread_id, user_id, name) VALUES (:thread_id, :user_id, :name)
ON CONFLICT (thread_id) DO UPDATE SET name = excluded.name
WHERE threads.user_id = excluded.user_id AND excluded.name IS NOT NULL AND threads.name IS NOT excluded.name

-- name: archive.whole
SELECT id, message FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value
    FROM json_each(:ids))

-- name: archive.places
SELECT id, seq, created_at FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value
    FROM json_each(:ids))

-- name: archive.importance
SELECT id, importance FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value
    FROM json_each(:ids))

-- name: archive.weigh
UPDATE messages SET importance = min(1.0, max(0.0, :least, importance + :step))
FROM (SELECT t.value AS thread_id, i.value AS id FROM json_each(:threads) AS t JOIN json_each(:ids) AS i
      ON i.key = t.key) AS meant
WHERE user_id = :user_id AND messages.thread_id = meant.thread_id AND messages.id = meant.id

-- name: archive.known
SELECT id FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value
    FROM json_each(:ids))

-- name: archive.has_more
SELECT EXISTS (SELECT 1 FROM messages WHERE user_id = :user_id
               AND NOT (thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids)))) AS more

-- name: archive.older
SELECT id FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL AND id IN (SELECT value FROM json_each(:ids))
  AND seq < (SELECT seq FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = :first)

-- name: archive.first_below
WITH RECURSIVE below(top, id) AS (
    SELECT id, json_extract(sound(source_ids), '$[0]') FROM summaries
    WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))
    UNION
    SELECT below.top, json_extract(sound(s.source_ids), '$[0]') FROM below JOIN summaries AS s
      ON s.user_id = :user_id AND s.thread_id = :thread_id AND s.id = below.id
)
SELECT below.top, min(m.seq) AS seq FROM below JOIN messages AS m
  ON m.user_id = :user_id AND m.thread_id = :thread_id AND m.id = below.id GROUP BY below.top

-- name: archive.named
SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:ids))

-- name: archive.renumber
UPDATE messages SET seq = new.seq
FROM (SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS seq
    FROM json_each(zipped(:ids, :numbers)) LIMIT -1) AS new
WHERE user_id = :user_id AND thread_id = :thread_id AND messages.id = new.id
