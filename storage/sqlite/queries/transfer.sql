-- part: transfer.wanted
-- What stands in no thread that there is belongs to nothing that could be brought back.
(SELECT thread_id FROM threads WHERE user_id = :user_id AND (:ids IS NULL OR thread_id IN (SELECT value FROM json_each(:ids))))

-- name: transfer.counts
WITH wanted AS {transfer.wanted}
SELECT (SELECT count(*) FROM wanted) AS threads,
       (SELECT count(*) FROM messages JOIN wanted USING (thread_id) WHERE user_id = :user_id) AS messages,
       (SELECT count(*) FROM summaries JOIN wanted USING (thread_id) WHERE user_id = :user_id) AS summaries,
       (SELECT count(*) FROM summary_versions JOIN wanted USING (thread_id) WHERE user_id = :user_id) AS versions,
       (SELECT count(*) FROM facts JOIN wanted USING (thread_id) WHERE user_id = :user_id) AS facts,
       (SELECT count(*) FROM pins JOIN wanted USING (thread_id) WHERE user_id = :user_id) AS pins,
       (SELECT count(*) FROM documents WHERE user_id = :user_id AND :ids IS NULL) AS documents

-- name: transfer.threads
SELECT 'thread' AS kind, thread_id AS id, name, created_at, retention FROM threads
WHERE user_id = :user_id AND (:ids IS NULL OR thread_id IN (SELECT value FROM json_each(:ids))) ORDER BY thread_id

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
SELECT thread_id FROM threads WHERE thread_id IN (SELECT value FROM json_each(:ids)) AND user_id <> :user_id LIMIT 1

-- name: transfer.not_claimed
SELECT value AS thread_id FROM json_each(:ids)
WHERE NOT EXISTS (SELECT 1 FROM threads WHERE thread_id = value AND user_id = :user_id) LIMIT 1

-- name: transfer.add_threads
INSERT INTO threads (thread_id, user_id, name, created_at, retention)
SELECT new.id, :user_id, new.name, new.created_at, new.retention
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.name') AS name,
    moment(json_extract(value, '$.created_at')) AS created_at,
    json_extract(value, '$.retention') AS retention FROM json_each(:rows) LIMIT -1) AS new WHERE true
ON CONFLICT (thread_id) DO UPDATE SET name = excluded.name
WHERE threads.user_id = excluded.user_id AND threads.name IS NULL AND excluded.name IS NOT NULL

-- name: transfer.lock_threads
-- A writer is alone anyway.
SELECT :user_id

-- name: transfer.add_summaries
INSERT INTO summaries (user_id, thread_id, id, level, content, source_ids, method, model, tokens, covers, rejected,
                       version, created_at, left_at)
SELECT :user_id, new.thread_id, new.id, new.level, new.content, new.source_ids, new.method, new.model, new.tokens,
       new.covers, new.rejected, new.version, new.created_at, new.left_at
FROM (SELECT json_extract(value, '$.thread_id') AS thread_id, json_extract(value, '$.id') AS id,
    json_extract(value, '$.level') AS level, json_extract(value, '$.content') AS content,
    json_extract(value, '$.source_ids') AS source_ids, json_extract(value, '$.method') AS method,
    json_extract(value, '$.model') AS model, json_extract(value, '$.tokens') AS tokens,
    json_extract(value, '$.covers') AS covers,
    json_extract(value, '$.rejected') AS rejected, json_extract(value, '$.version') AS version,
        moment(json_extract(value, '$.created_at')) AS created_at,
        moment(json_extract(value, '$.left_at')) AS left_at FROM json_each(:rows) LIMIT -1) AS new WHERE true
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
SELECT 'document' AS kind, namespace, key AS id, content, fields, created_at, updated_at FROM documents
WHERE user_id = :user_id AND :ids IS NULL ORDER BY namespace, key

-- name: transfer.add_documents
INSERT INTO documents (user_id, namespace, key, content, fields, vectors, created_at, updated_at)
SELECT :user_id, json_extract(value, '$.namespace'), json_extract(value, '$.id'), json_extract(value, '$.content'),
       json_extract(value, '$.fields'), '', moment(json_extract(value, '$.created_at')),
       moment(json_extract(value, '$.updated_at'))
FROM json_each(:rows) WHERE true
ON CONFLICT (user_id, namespace, key) DO NOTHING RETURNING false AS pending

-- name: transfer.mark_facts
UPDATE facts AS old SET state = new.state, valid_to = new.valid_to, superseded_by = new.superseded_by
FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.state') AS state,
    moment(json_extract(value, '$.valid_to')) AS valid_to, json_extract(value, '$.superseded_by') AS superseded_by
    FROM json_each(:rows)
    LIMIT -1) AS new
WHERE old.user_id = :user_id AND old.id = new.id AND old.valid_to IS NULL AND new.valid_to IS NOT NULL

-- name: transfer.add_facts
INSERT INTO facts
SELECT :user_id, new.*, true {facts.facts_given}
ON CONFLICT (user_id, id) DO NOTHING RETURNING false AS pending

-- name: transfer.mark_pins
UPDATE pins AS old SET forgotten_at = new.forgotten_at
FROM (SELECT json_extract(value, '$.id') AS id, moment(json_extract(value, '$.forgotten_at')) AS forgotten_at
    FROM json_each(:rows) LIMIT -1) AS new
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
INSERT INTO summary_versions (user_id, thread_id, id, version, content, method, model, tokens, rejected, replaced_at)
SELECT :user_id, new.thread_id, new.id, new.version, new.content, new.method, new.model, new.tokens, new.rejected,
       new.replaced_at
FROM (SELECT json_extract(value, '$.thread_id') AS thread_id, json_extract(value, '$.id') AS id,
    json_extract(value, '$.version') AS version, json_extract(value, '$.content') AS content,
    json_extract(value, '$.method') AS method,
    json_extract(value, '$.model') AS model, json_extract(value, '$.tokens') AS tokens,
        json_extract(value, '$.rejected') AS rejected, moment(json_extract(value, '$.replaced_at')) AS replaced_at
        FROM json_each(:rows)
    LIMIT -1) AS new
JOIN summaries AS s ON s.user_id = :user_id AND s.thread_id = new.thread_id AND s.id = new.id
WHERE s.version > new.version
ON CONFLICT (user_id, thread_id, id, version) DO NOTHING
RETURNING false AS pending
