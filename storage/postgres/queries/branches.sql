-- name: branches.leave
UPDATE messages SET left_at = :moment
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL AND id <> ALL(:ids::text[])
  AND seq > (SELECT coalesce(min(seq), 0) FROM messages
             WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids::text[]))
RETURNING id

-- name: branches.remove
UPDATE messages SET left_at = :moment
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL AND id = ANY(:ids::text[])
RETURNING id

-- name: branches.come_back
UPDATE messages SET left_at = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NOT NULL AND id = ANY(:ids::text[])
RETURNING id

-- name: branches.summaries_leave
UPDATE summaries SET left_at = :moment
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NULL AND source_ids && :ids::text[]
RETURNING id

-- name: branches.left_messages
SELECT id FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NOT NULL

-- name: branches.left_summaries
SELECT id, source_ids FROM summaries
WHERE user_id = :user_id AND thread_id = :thread_id AND left_at IS NOT NULL ORDER BY created_at, id

-- name: branches.summaries_come_back
UPDATE summaries SET left_at = NULL
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids::text[])

-- name: branches.read_anew
INSERT INTO memory_removals (user_id, times) VALUES (:user_id, 1)
ON CONFLICT (user_id) DO UPDATE SET times = memory_removals.times + 1

-- name: branches.whole
SELECT id, message, created_at FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids::text[])

-- name: branches.keep_earlier
INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at,
                      embedded_with, term_keys, facts_read, left_at)
SELECT user_id, thread_id, :earlier_id, {archive.last_number} + 1,
       role, name, text, :message::jsonb, tokens, created_at, '', term_keys, true, :moment
FROM messages WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id
ON CONFLICT (user_id, thread_id, id) DO NOTHING

-- name: branches.edit
UPDATE messages AS old
SET role = new.role, name = new.name, text = new.text, message = new.message, tokens = new.tokens, facts_read = false,
    embedded_with = CASE WHEN new.role IN ('user', 'assistant', 'agent') AND trim(new.text) <> '' THEN NULL ELSE '' END,
    term_keys = ARRAY(SELECT jsonb_array_elements_text(new.term_keys)::bigint)
FROM jsonb_to_recordset(:rows::jsonb) AS new(
    id text, role text, name text, text text, message jsonb, tokens int, term_keys jsonb)
WHERE old.user_id = :user_id AND old.thread_id = :thread_id AND old.id = new.id

-- name: branches.facts_stay
-- What was found in the earlier text stays with that, under ids that what is found in the new one cannot have.
UPDATE facts SET source_id = :earlier_id, id = id || '@' || :earlier_id
WHERE user_id = :user_id AND thread_id = :thread_id AND source_id = :id

-- name: branches.pins_stay
UPDATE pins SET source_id = :earlier_id, id = id || '@' || :earlier_id
WHERE user_id = :user_id AND thread_id = :thread_id AND source_id = :id

-- name: branches.stale
UPDATE summaries SET rejected = :reason
WHERE user_id = :user_id AND thread_id = :thread_id AND rejected IS NULL AND left_at IS NULL
  AND source_ids && :ids::text[]
RETURNING id
