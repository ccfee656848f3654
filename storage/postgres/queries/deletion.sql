-- part: deletion.scope
-- Whole threads, or these ids of one thread.
(thread_id = ANY(:threads::text[]) OR (thread_id = :thread_id AND id = ANY(:ids::text[])))

-- part: deletion.scope_of_source
-- What was made from whole threads, or from these ids of one thread.
(thread_id = ANY(:threads::text[]) OR (thread_id = :thread_id AND source_id = ANY(:ids::text[])))

-- part: deletion.is_there
-- Whether a source of a summary of the thread is there.
(EXISTS (SELECT FROM messages AS m WHERE m.user_id = :user_id AND m.thread_id = :thread_id AND m.id = known.id)
 OR EXISTS (SELECT FROM summaries AS s WHERE s.user_id = :user_id AND s.thread_id = :thread_id AND s.id = known.id))

-- name: deletion.threads
-- All of them are also those that have lost their row, but not what was said in them.
SELECT thread_id FROM threads WHERE user_id = :user_id AND (:thread_id::text IS NULL OR thread_id = :thread_id)
UNION SELECT thread_id FROM messages WHERE user_id = :user_id AND :thread_id::text IS NULL
UNION SELECT thread_id FROM summaries WHERE user_id = :user_id AND :thread_id::text IS NULL
UNION SELECT thread_id FROM summary_versions WHERE user_id = :user_id AND :thread_id::text IS NULL
UNION SELECT thread_id FROM vectors WHERE user_id = :user_id AND :thread_id::text IS NULL
UNION SELECT thread_id FROM facts WHERE user_id = :user_id AND :thread_id::text IS NULL
UNION SELECT thread_id FROM pins WHERE user_id = :user_id AND :thread_id::text IS NULL
UNION SELECT thread_id FROM turn_reports WHERE user_id = :user_id AND :thread_id::text IS NULL
ORDER BY thread_id

-- name: deletion.said
SELECT thread_id, id, role, text, created_at FROM messages WHERE user_id = :user_id AND {deletion.scope}

-- name: deletion.span
SELECT thread_id, id FROM messages
WHERE user_id = :user_id AND (:thread_id::text IS NULL OR thread_id = :thread_id)
  AND (:since::timestamptz IS NULL OR created_at >= :since) AND (:until::timestamptz IS NULL OR created_at < :until)

-- name: deletion.copies
-- These messages of a thread, what they said before they were edited, and the same in threads that were copied.
WITH mine AS (
    SELECT thread_id, id, regexp_replace(id, '@was-[0-9a-f]{32}$', '') AS said_as, created_at,
           message #> '{data,content}' AS content
    FROM messages
    WHERE user_id = :user_id AND regexp_replace(id, '@was-[0-9a-f]{32}$', '') = ANY(:said_as::text[])
)
SELECT thread_id, id FROM mine WHERE (said_as, created_at, content) IN (
    SELECT said_as, created_at, content FROM mine
    WHERE thread_id = :thread_id AND (id = ANY(:ids::text[]) OR said_as = ANY(:ids::text[])))

-- name: deletion.quoting
-- What holds one of these texts word for word: of a reply also what is no text of it, as arguments of its calls.
WITH quoted AS (
    SELECT quote, substr(spelled, 2, length(spelled) - 2) AS spelled
    FROM unnest(:quotes::text[]) AS quote CROSS JOIN LATERAL (SELECT to_json(quote)::text AS spelled) AS json
)
SELECT thread_id, id, role, text, CASE WHEN role <> 'user' THEN message END AS message FROM messages
WHERE user_id = :user_id AND created_at >= :since
  AND EXISTS (SELECT FROM quoted WHERE strpos(text, quote) > 0 OR role <> 'user' AND strpos(message::text, spelled) > 0)

-- name: deletion.said_after
-- The user's messages that were read for facts beside one of these: what was said right before them.
WITH said AS (
    SELECT id, role, id = ANY(:ids::text[]) AS gone,
           sum(CASE WHEN role = 'user' THEN 1 ELSE 0 END) OVER (ORDER BY seq) AS exchange
    FROM messages WHERE user_id = :user_id AND thread_id = :thread_id
)
SELECT id FROM said WHERE role = 'user' AND NOT gone AND exchange - 1 IN (SELECT exchange FROM said WHERE gone)

-- name: deletion.facts_from
SELECT id, state FROM facts WHERE user_id = :user_id AND {deletion.scope_of_source}

-- name: deletion.fact
SELECT id FROM facts WHERE user_id = :user_id AND id = :id
UNION SELECT id FROM pins WHERE user_id = :user_id AND id = :id

-- name: deletion.fact_said_in
-- The messages that a fact or pin was read from, and the last that said it again.
SELECT m.thread_id, m.id FROM facts AS f JOIN messages AS m
  ON m.user_id = f.user_id AND ((m.thread_id = f.thread_id AND m.id = f.source_id)
                                OR (m.role = 'user' AND m.created_at = f.confirmed_at))
WHERE f.user_id = :user_id AND f.id = :id
UNION
SELECT m.thread_id, m.id FROM pins AS p JOIN messages AS m
  ON m.user_id = p.user_id AND m.thread_id = p.thread_id AND m.id = p.source_id
WHERE p.user_id = :user_id AND p.id = :id

-- name: deletion.facts
DELETE FROM facts WHERE user_id = :user_id AND id = ANY(:facts::text[])

-- name: deletion.numbers
INSERT INTO forgotten_numbers SELECT user_id, thread_id, seq FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids::text[])
ON CONFLICT (user_id, thread_id, seq) DO NOTHING

-- name: deletion.all_numbers
DELETE FROM forgotten_numbers WHERE user_id = :user_id AND thread_id = ANY(:threads::text[])

-- name: deletion.left_out
DELETE FROM left_out WHERE user_id = :user_id AND thread_id = ANY(:threads::text[])

-- name: deletion.pins
DELETE FROM pins WHERE user_id = :user_id AND {deletion.scope_of_source} RETURNING id

-- name: deletion.vectors
-- Also those in the thread that nothing there is the source of: one whose source was renamed by hand says it still.
DELETE FROM vectors WHERE user_id = :user_id AND ({deletion.scope_of_source} OR thread_id = :thread_id
    AND NOT EXISTS (SELECT 1 FROM messages AS m
                    WHERE m.user_id = :user_id AND m.thread_id = :thread_id AND m.id = vectors.source_id)
    AND NOT EXISTS (SELECT 1 FROM summaries AS s
                    WHERE s.user_id = :user_id AND s.thread_id = :thread_id AND s.id = vectors.source_id))

-- name: deletion.summary_versions
DELETE FROM summary_versions WHERE user_id = :user_id AND {deletion.scope}

-- name: deletion.summaries
DELETE FROM summaries WHERE user_id = :user_id AND {deletion.scope} RETURNING id

-- name: deletion.messages
DELETE FROM messages WHERE user_id = :user_id AND {deletion.scope} RETURNING id

-- name: deletion.of_unknown
-- Summaries of which nobody can tell what all they were made from: such a one may say anything. With what is known.
SELECT id, level, method, rejected, created_at, ARRAY(
    SELECT known.id FROM unnest(source_ids) WITH ORDINALITY AS known(id, place)
    WHERE {deletion.is_there} ORDER BY place) AS source_ids
FROM summaries AS made WHERE user_id = :user_id AND thread_id = :thread_id AND (
    cardinality(source_ids) = 0
    OR EXISTS (SELECT FROM unnest(source_ids) AS known(id) WHERE NOT {deletion.is_there}))

-- name: deletion.texts
SELECT id, role, name, text FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND id = ANY(:ids::text[])

-- name: deletion.rewrite
UPDATE summaries SET content = :content, source_ids = :source_ids, method = 'extractive', model = NULL,
                     tokens = :tokens, covers = :covers, rejected = :rejected, tries = 0, embedded_with = NULL,
                     version = version + CASE WHEN version < 2147483647 THEN 1 ELSE 0 END
WHERE user_id = :user_id AND thread_id = :thread_id AND id = :id

-- name: deletion.turn_reports
DELETE FROM turn_reports WHERE user_id = :user_id AND thread_id = ANY(:threads::text[])

-- name: deletion.reports_quoting
-- Reports that name what is forgotten as a memory; those of its own thread, too, whose question it is, that show a
-- summary of it, or that searched for a word of it. A damaged one may say anything.
SELECT thread_id, turn, report, jsonb_typeof(report) = 'string' AS is_sealed FROM turn_reports
WHERE user_id = :user_id
  AND (jsonb_typeof(report) <> 'object' OR EXISTS (SELECT FROM jsonb_path_query(report, '$.memories[*]') AS memory
               WHERE memory->>'thread_id' = ANY(:threads::text[])
                  OR (memory->>'thread_id' = :thread_id AND memory->'source_ids' ?| :ids::text[]))
       OR (thread_id = :thread_id
           AND (report->>'question' = ANY(:questions::text[])
                OR EXISTS (SELECT FROM jsonb_path_query(report, '$.summaries[*].id') AS made
                           WHERE made #>> '{}' = ANY(:ids::text[]))
                OR EXISTS (SELECT FROM unnest(:words::text[]) AS word
                           WHERE strpos(lower(concat_ws(' ', report#>>'{search,query}', report#>>'{search,sent}')),
                                        word) > 0))))

-- name: deletion.keep_report
UPDATE turn_reports SET report = :report WHERE user_id = :user_id AND thread_id = :thread_id AND turn = :turn

-- name: deletion.report
DELETE FROM turn_reports WHERE user_id = :user_id AND thread_id = :thread_id AND turn = :turn

-- name: deletion.checkpoint_writes
DELETE FROM checkpoint_writes USING threads AS t
WHERE t.user_id = :user_id AND t.thread_id = checkpoint_writes.thread_id AND t.thread_id = ANY(:threads::text[])

-- name: deletion.checkpoint_blobs
DELETE FROM checkpoint_blobs USING threads AS t
WHERE t.user_id = :user_id AND t.thread_id = checkpoint_blobs.thread_id AND t.thread_id = ANY(:threads::text[])

-- name: deletion.checkpoints
DELETE FROM checkpoints USING threads AS t
WHERE t.user_id = :user_id AND t.thread_id = checkpoints.thread_id AND t.thread_id = ANY(:threads::text[])

-- name: deletion.old_checkpoints
DELETE FROM checkpoints AS old USING threads AS t
WHERE t.user_id = :user_id AND t.thread_id = :thread_id AND old.thread_id = t.thread_id
  AND old.checkpoint_id < (SELECT checkpoint_id FROM checkpoints AS new
                           WHERE new.thread_id = old.thread_id AND new.checkpoint_ns = old.checkpoint_ns
                           ORDER BY checkpoint_id DESC OFFSET :kept - 1 LIMIT 1)

-- name: deletion.old_writes
DELETE FROM checkpoint_writes AS old USING threads AS t
WHERE t.user_id = :user_id AND t.thread_id = :thread_id AND old.thread_id = t.thread_id
  AND NOT EXISTS (SELECT FROM checkpoints AS kept
                  WHERE kept.thread_id = old.thread_id AND kept.checkpoint_ns = old.checkpoint_ns
                    AND kept.checkpoint_id = old.checkpoint_id)

-- name: deletion.old_blobs
DELETE FROM checkpoint_blobs AS old USING threads AS t
WHERE t.user_id = :user_id AND t.thread_id = :thread_id AND old.thread_id = t.thread_id
  AND NOT EXISTS (SELECT FROM checkpoints AS kept
                  WHERE kept.thread_id = old.thread_id AND kept.checkpoint_ns = old.checkpoint_ns
                    AND kept.checkpoint->'channel_versions'->>old.channel = old.version)

-- name: deletion.states
-- What the checkpoints of a thread hold, each value with its place.
SELECT 'checkpoint' AS kind, c.checkpoint_ns, c.checkpoint_id AS place, '' AS task_id, 0 AS idx, NULL AS channel,
       'jsonb' AS type, convert_to(c.checkpoint::text, 'UTF8') AS value
FROM checkpoints AS c JOIN threads AS t ON t.thread_id = c.thread_id
WHERE t.user_id = :user_id AND c.thread_id = :thread_id
UNION ALL
SELECT 'blob', b.checkpoint_ns, b.version, '', 0, b.channel, b.type, b.blob
FROM checkpoint_blobs AS b JOIN threads AS t ON t.thread_id = b.thread_id
WHERE t.user_id = :user_id AND b.thread_id = :thread_id AND b.blob IS NOT NULL
UNION ALL
SELECT 'write', w.checkpoint_ns, w.checkpoint_id, w.task_id, w.idx, w.channel, w.type, w.blob
FROM checkpoint_writes AS w JOIN threads AS t ON t.thread_id = w.thread_id
WHERE t.user_id = :user_id AND w.thread_id = :thread_id

-- name: deletion.keep_checkpoint
UPDATE checkpoints SET checkpoint = convert_from(:value::bytea, 'UTF8')::jsonb FROM threads AS t
WHERE t.user_id = :user_id AND t.thread_id = :thread_id AND checkpoints.thread_id = t.thread_id
  AND checkpoint_ns = :checkpoint_ns AND checkpoint_id = :place AND :type = 'jsonb'

-- name: deletion.keep_blob
UPDATE checkpoint_blobs SET type = :type, blob = :value FROM threads AS t
WHERE t.user_id = :user_id AND t.thread_id = :thread_id AND checkpoint_blobs.thread_id = t.thread_id
  AND checkpoint_ns = :checkpoint_ns AND version = :place AND channel = :channel

-- name: deletion.keep_write
UPDATE checkpoint_writes SET type = :type, blob = :value FROM threads AS t
WHERE t.user_id = :user_id AND t.thread_id = :thread_id AND checkpoint_writes.thread_id = t.thread_id
  AND checkpoint_ns = :checkpoint_ns AND checkpoint_id = :place AND task_id = :task_id AND idx = :idx

-- name: deletion.search_cache
-- All that was searched for: a message has its time from its archiving, which comes after the search.
DELETE FROM search_cache WHERE user_id = :user_id

-- name: deletion.own_threads
DELETE FROM threads WHERE user_id = :user_id AND thread_id = ANY(:threads::text[])

-- name: deletion.record
INSERT INTO deletions (user_id, deleted_at, kind, asked_by, threads, messages, summaries, rewritten, facts, pins,
                       reports, documents)
VALUES (:user_id, :deleted_at, :kind, :asked_by, :threads, :messages, :summaries, :rewritten, :facts, :pins, :reports,
        :documents)

-- name: deletion.records
SELECT deleted_at, kind, asked_by, threads, messages, summaries, rewritten, facts, pins, reports, documents
FROM deletions
WHERE user_id = :user_id ORDER BY deleted_at
