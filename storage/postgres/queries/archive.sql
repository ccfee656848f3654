-- name: archive.lock_thread
SELECT pg_advisory_xact_lock(hashtextextended(:user_id || chr(31) || :thread_id, 0))

-- name: archive.own
INSERT INTO threads (thread_id, user_id, name) VALUES (:thread_id, :user_id, :name)
ON CONFLICT (thread_id) DO UPDATE SET name = excluded.name
WHERE threads.user_id = excluded.user_id AND excluded.name IS NOT NULL AND threads.name IS DISTINCT FROM excluded.name

-- name: archive.owner
SELECT user_id = :user_id AS mine FROM threads WHERE thread_id = :thread_id

-- part: archive.messages_given
SELECT * FROM jsonb_to_recordset(:rows) AS line(ordinal int, id text, role text, name text, text text, message jsonb,
                                                   tokens int, created_at timestamptz, term_keys jsonb,
                                                   importance float8)

-- part: archive.changed_messages
-- Those of `new` that are known with another content.
SELECT new.id FROM new JOIN messages AS old
  ON old.user_id = :user_id AND old.thread_id = :thread_id AND old.id = new.id
WHERE old.role <> new.role OR old.message #> '{data,content}' IS DISTINCT FROM new.message #> '{data,content}'
   OR old.message #> '{data,tool_calls}' IS DISTINCT FROM new.message #> '{data,tool_calls}'
   OR old.message #> '{data,tool_call_id}' IS DISTINCT FROM new.message #> '{data,tool_call_id}'

-- part: archive.last_number
-- That of a damaged row, which no message has, does not count.
(SELECT coalesce(max(seq), 0) FROM messages
 WHERE user_id = :user_id AND thread_id = :thread_id AND seq < 1099511627776)

-- name: archive.add_messages
-- Where a known message came with another content, none is added, unless the rest is to be kept.
WITH new AS ({archive.messages_given}), changed AS ({archive.changed_messages}), added AS (
    INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at, embedded_with,
                          term_keys, importance)
    SELECT :user_id, :thread_id, new.id, {archive.last_number} + row_number() OVER (ORDER BY new.ordinal),
           new.role, new.name, new.text, new.message, new.tokens, new.created_at,
           CASE WHEN new.role IN ('user', 'assistant', 'agent') AND new.text ~ '\S' THEN NULL ELSE '' END,
           ARRAY(SELECT jsonb_array_elements_text(new.term_keys)::bigint), coalesce(new.importance, 0.5)
    FROM new
    WHERE NOT EXISTS (SELECT FROM messages AS old
                      WHERE old.user_id = :user_id AND old.thread_id = :thread_id AND old.id = new.id)
      AND (:keep_rest OR NOT EXISTS (SELECT FROM changed))
    RETURNING id
)
SELECT id, false AS changed FROM added UNION ALL SELECT id, true FROM changed

-- name: archive.find_changed
WITH new AS ({archive.messages_given})
{archive.changed_messages}

-- name: archive.add_summary
INSERT INTO summaries (user_id, thread_id, id, level, content, source_ids, method, model, tokens, covers, rejected,
                       version, created_at)
VALUES (:user_id, :thread_id, :id, :level, :content, :source_ids, :method, :model,
        :tokens, :covers, :rejected, :version, :created_at)
ON CONFLICT (user_id, thread_id, id) DO NOTHING

-- name: archive.messages
SELECT * FROM messages WHERE user_id = :user_id AND thread_id = :thread_id ORDER BY seq

-- name: archive.whole
SELECT id, message FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: archive.importance
SELECT id, importance FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: archive.weigh
UPDATE messages SET importance = least(1.0, greatest(0.0, :least::float8, importance + :step))
FROM unnest(:threads::text[], :ids::text[]) AS meant(thread_id, id)
WHERE user_id = :user_id AND messages.thread_id = meant.thread_id AND messages.id = meant.id

-- name: archive.compression
SELECT (SELECT count(*) FROM messages WHERE user_id = :user_id AND thread_id = :thread_id) AS messages,
       (SELECT count(*) FROM messages WHERE user_id = :user_id AND thread_id = :thread_id
        AND id IN (SELECT id FROM summarized WHERE user_id = :user_id AND thread_id = :thread_id)) AS archived,
       count(*) FILTER (WHERE left_at IS NULL AND id NOT IN (
           SELECT id FROM summarized WHERE user_id = :user_id AND thread_id = :thread_id)) AS summaries,
       max(level) AS level
FROM summaries WHERE user_id = :user_id AND thread_id = :thread_id

-- name: archive.places
SELECT id, seq, created_at FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: archive.known
SELECT id FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids)

-- name: archive.count
SELECT count(*) AS n FROM messages WHERE user_id = :user_id AND thread_id = :thread_id

-- name: archive.has_more
SELECT EXISTS (SELECT FROM messages WHERE user_id = :user_id
               AND NOT (thread_id = :thread_id AND id = ANY(:ids))) AS more

-- name: archive.summaries
SELECT * FROM summaries WHERE user_id = :user_id AND thread_id = :thread_id ORDER BY created_at, id

-- name: archive.older
SELECT id FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL AND id = ANY(:ids)
  AND seq < (SELECT seq FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = :first)

-- name: archive.last
SELECT id FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL
ORDER BY seq DESC LIMIT 1

-- name: archive.page
-- Of rows that are read backwards, the newest; then in their order.
SELECT * FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND (left_at IS NULL OR :with_left)
  AND seq < (SELECT coalesce(max(seq), 9223372036854775807) FROM messages
             WHERE user_id = :user_id AND thread_id = :thread_id AND id = :before)
ORDER BY seq DESC LIMIT :limit

-- name: archive.standing_messages
SELECT id, seq, is_summarized FROM (
    SELECT id, seq, id IN (SELECT id FROM summarized
                           WHERE user_id = :user_id AND thread_id = :thread_id) AS is_summarized
    FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL
) AS said
WHERE NOT is_summarized OR seq > {archive.last_number} - :recent
ORDER BY seq DESC LIMIT :limit

-- name: archive.standing_summaries
SELECT * FROM summaries
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL
  AND id NOT IN (SELECT id FROM summarized WHERE user_id = :user_id AND thread_id = :thread_id)
ORDER BY created_at, id

-- name: archive.first_below
-- Down the first sources of each: the first of them that is a message was said before all others below it.
WITH RECURSIVE below(top, id) AS (
    SELECT id, source_ids[1] FROM summaries
    WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids::text[])
    UNION
    SELECT below.top, s.source_ids[1] FROM below JOIN summaries AS s
      ON s.user_id = :user_id AND s.thread_id = :thread_id AND s.id = below.id
)
SELECT below.top, min(m.seq) AS seq FROM below JOIN messages AS m
  ON m.user_id = :user_id AND m.thread_id = :thread_id AND m.id = below.id GROUP BY below.top

-- name: archive.threads
SELECT t.thread_id, t.name, t.created_at, count(m.id) AS messages, max(m.created_at) AS last_at
FROM threads t LEFT JOIN messages m ON m.user_id = t.user_id AND m.thread_id = t.thread_id
WHERE t.user_id = :user_id GROUP BY t.thread_id ORDER BY max(m.seq) IS NULL, max(m.created_at) DESC

-- name: archive.named
SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id = ANY(:ids)

-- name: archive.renumber
UPDATE messages SET seq = new.seq FROM unnest(:ids::text[], :numbers::bigint[]) AS new(id, seq)
WHERE user_id = :user_id AND thread_id = :thread_id AND messages.id = new.id
