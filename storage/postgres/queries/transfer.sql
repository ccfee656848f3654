-- name: transfer.add_messages
WITH lines AS (
    SELECT * FROM jsonb_to_recordset(:rows::jsonb) AS line(
        thread_id text, id text, seq bigint, role text, name text, text text, message jsonb, tokens int,
        created_at timestamptz, term_keys jsonb, left_at timestamptz)
), changed AS (
    SELECT line.thread_id, line.id FROM lines AS line JOIN messages AS old
      ON old.user_id = :user_id AND old.thread_id = line.thread_id AND old.id = line.id
    WHERE old.role <> line.role OR old.message #> '{data,content}' IS DISTINCT FROM line.message #> '{data,content}'
       OR old.message #> '{data,tool_calls}' IS DISTINCT FROM line.message #> '{data,tool_calls}'
       OR old.message #> '{data,tool_call_id}' IS DISTINCT FROM line.message #> '{data,tool_call_id}'
    UNION ALL
    SELECT line.thread_id, line.id FROM lines AS line JOIN lines AS old
      ON old.thread_id = line.thread_id AND old.id = line.id AND old.seq < line.seq
    WHERE old.role <> line.role OR old.message - 'sealed' <> line.message - 'sealed'
), new AS (
    SELECT * FROM lines AS line
    WHERE NOT EXISTS (SELECT FROM changed) AND NOT EXISTS (
        SELECT FROM messages AS old WHERE old.user_id = :user_id
        AND old.thread_id = line.thread_id AND old.id = line.id)
), moved AS (
    SELECT new.thread_id, (SELECT max(seq) FROM messages AS old WHERE old.user_id = :user_id
                           AND old.thread_id = new.thread_id) AS last
    FROM new JOIN messages AS taken ON taken.user_id = :user_id AND taken.thread_id = new.thread_id
                                    AND taken.seq = new.seq
    GROUP BY new.thread_id
), added AS (
    INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at,
                          embedded_with, term_keys, left_at)
    SELECT :user_id, thread_id, id,
           coalesce(last + row_number() OVER (PARTITION BY thread_id ORDER BY seq), seq),
           role, name, text, message, tokens, created_at,
           CASE WHEN role IN ('user', 'assistant', 'agent') AND text ~ '\S' THEN NULL ELSE '' END,
           ARRAY(SELECT jsonb_array_elements_text(term_keys)::bigint), left_at
    FROM new LEFT JOIN moved USING (thread_id)
    ON CONFLICT (user_id, thread_id, id) DO NOTHING
    RETURNING embedded_with IS NULL AS pending
)
SELECT pending, NULL AS thread_id, NULL AS changed FROM added UNION ALL SELECT false, thread_id, id FROM changed

-- part: transfer.wanted
-- What stands in no thread that there is belongs to nothing that could be brought back.
(SELECT thread_id FROM threads WHERE user_id = :user_id AND (:ids::text[] IS NULL OR thread_id = ANY(:ids)))

-- name: transfer.counts
WITH wanted AS {transfer.wanted}
SELECT (SELECT count(*) FROM wanted) AS threads,
       (SELECT count(*) FROM messages JOIN wanted USING (thread_id) WHERE user_id = :user_id) AS messages,
       (SELECT count(*) FROM summaries JOIN wanted USING (thread_id) WHERE user_id = :user_id) AS summaries,
       (SELECT count(*) FROM summary_versions JOIN wanted USING (thread_id) WHERE user_id = :user_id) AS versions,
       (SELECT count(*) FROM facts JOIN wanted USING (thread_id) WHERE user_id = :user_id) AS facts,
       (SELECT count(*) FROM pins JOIN wanted USING (thread_id) WHERE user_id = :user_id) AS pins,
       (SELECT count(*) FROM documents WHERE user_id = :user_id AND :ids::text[] IS NULL) AS documents

-- name: transfer.threads
SELECT 'thread' AS kind, thread_id AS id, name, created_at, retention FROM threads
WHERE user_id = :user_id AND (:ids::text[] IS NULL OR thread_id = ANY(:ids)) ORDER BY thread_id

-- name: transfer.messages
SELECT 'message' AS kind, thread_id AS thread, id, seq, role, name, created_at, tokens, message, left_at
FROM messages
WHERE user_id = :user_id AND thread_id IN {transfer.wanted} ORDER BY thread_id, seq

-- name: transfer.summaries
SELECT 'summary' AS kind, thread_id AS thread, id, level, content, source_ids, method, model, tokens, covers, rejected,
       version, created_at, left_at
FROM summaries
WHERE user_id = :user_id AND thread_id IN {transfer.wanted}
ORDER BY thread_id, created_at, id

-- name: transfer.not_mine
SELECT thread_id FROM threads WHERE thread_id = ANY(:ids) AND user_id <> :user_id LIMIT 1

-- name: transfer.not_claimed
SELECT id AS thread_id FROM unnest(:ids::text[]) AS id
WHERE NOT EXISTS (SELECT FROM threads WHERE thread_id = id AND user_id = :user_id) LIMIT 1

-- name: transfer.add_threads
INSERT INTO threads (thread_id, user_id, name, created_at, retention)
SELECT new.id, :user_id, new.name, new.created_at, new.retention
FROM jsonb_to_recordset(:rows::jsonb) AS new(id text, name text, created_at timestamptz, retention text)
ON CONFLICT (thread_id) DO UPDATE SET name = excluded.name
WHERE threads.user_id = excluded.user_id AND threads.name IS NULL AND excluded.name IS NOT NULL

-- name: transfer.lock_threads
SELECT pg_advisory_xact_lock(hashtextextended(:user_id || chr(31) || id, 0)) FROM unnest(:ids::text[]) AS id

-- name: transfer.add_summaries
INSERT INTO summaries (user_id, thread_id, id, level, content, source_ids, method, model, tokens, covers, rejected,
                       version, created_at, left_at)
SELECT :user_id, new.thread_id, new.id, new.level, new.content, new.source_ids, new.method, new.model, new.tokens,
       new.covers, new.rejected, new.version, new.created_at, new.left_at
FROM jsonb_to_recordset(:rows::jsonb) AS new(
    thread_id text, id text, level int, content text, source_ids text[], method text, model text, tokens int,
    covers int, rejected text, version int, created_at timestamptz, left_at timestamptz)
ON CONFLICT (user_id, thread_id, id) DO NOTHING
RETURNING true AS pending

-- name: transfer.facts
SELECT 'fact' AS kind, thread_id AS thread, id, kind AS sort, text, subject, attribute, value, negated, settles, terms,
       state, source_id, said_at, confirmed_at, valid_from, valid_to, superseded_by, confidence, origin
FROM facts
WHERE user_id = :user_id AND thread_id IN {transfer.wanted} ORDER BY thread_id, said_at, id

-- name: transfer.pins
SELECT 'pin' AS kind, thread_id AS thread, id, kind AS sort, text, score, source_id, created_at, forgotten_at
FROM pins
WHERE user_id = :user_id AND thread_id IN {transfer.wanted} ORDER BY thread_id, created_at, id

-- name: transfer.documents
-- Of no thread: none where one is asked for.
SELECT 'document' AS kind, namespace, key AS id, content, fields, created_at, updated_at FROM documents
WHERE user_id = :user_id AND :ids::text[] IS NULL ORDER BY namespace, key

-- name: transfer.add_documents
INSERT INTO documents (user_id, namespace, key, content, fields, vectors, created_at, updated_at)
SELECT :user_id, new.namespace, new.id, new.content, new.fields, '', new.created_at, new.updated_at
FROM jsonb_to_recordset(:rows::jsonb) AS new(
    namespace text, id text, content text, fields text, created_at timestamptz, updated_at timestamptz)
ON CONFLICT (user_id, namespace, key) DO NOTHING RETURNING false AS pending

-- name: transfer.mark_facts
-- What is known already stays as it is, but for what was superseded or forgotten since.
UPDATE facts AS old SET state = new.state, valid_to = new.valid_to, superseded_by = new.superseded_by
FROM jsonb_to_recordset(:rows::jsonb) AS new(id text, state text, valid_to timestamptz, superseded_by text)
WHERE old.user_id = :user_id AND old.id = new.id AND old.valid_to IS NULL AND new.valid_to IS NOT NULL

-- name: transfer.add_facts
INSERT INTO facts
SELECT :user_id, new.*, true {facts.facts_given}
ON CONFLICT (user_id, id) DO NOTHING RETURNING false AS pending

-- name: transfer.mark_pins
UPDATE pins AS old SET forgotten_at = new.forgotten_at
FROM jsonb_to_recordset(:rows::jsonb) AS new(id text, forgotten_at timestamptz)
WHERE old.user_id = :user_id AND old.id = new.id AND old.forgotten_at IS NULL AND new.forgotten_at IS NOT NULL

-- name: transfer.add_pins
INSERT INTO pins
SELECT :user_id, new.* {facts.pins_given}
ON CONFLICT (user_id, id) DO NOTHING RETURNING false AS pending

-- name: transfer.versions
SELECT 'version' AS kind, thread_id AS thread, id, version, content, method, model, tokens, rejected, replaced_at
FROM summary_versions
WHERE user_id = :user_id AND thread_id IN {transfer.wanted} ORDER BY thread_id, id, version

-- name: transfer.add_versions
-- Where the archive has an older text of the summary itself, and keeps it, the file's are none of its past.
INSERT INTO summary_versions (user_id, thread_id, id, version, content, method, model, tokens, rejected, replaced_at)
SELECT :user_id, new.thread_id, new.id, new.version, new.content, new.method, new.model, new.tokens, new.rejected,
       new.replaced_at
FROM jsonb_to_recordset(:rows::jsonb) AS new(
    thread_id text, id text, version int, content text, method text, model text, tokens int, rejected text,
    replaced_at timestamptz)
JOIN summaries AS s ON s.user_id = :user_id AND s.thread_id = new.thread_id AND s.id = new.id
WHERE s.version > new.version
ON CONFLICT (user_id, thread_id, id, version) DO NOTHING
RETURNING false AS pending
