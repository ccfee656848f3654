-- part: deletion.scope
-- Whole threads, or these ids of one thread.
(thread_id IN (SELECT value FROM json_each(:threads))
 OR (thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))))

-- part: deletion.scope_of_source
-- What was made from whole threads, or from these ids of one thread.
(thread_id IN (SELECT value FROM json_each(:threads))
 OR (thread_id = :thread_id AND source_id IN (SELECT value FROM json_each(:ids))))

-- part: deletion.is_there
(EXISTS (SELECT 1 FROM messages AS m WHERE m.user_id = :user_id AND m.thread_id = :thread_id AND m.id = known.value)
 OR EXISTS (SELECT 1 FROM summaries AS s
            WHERE s.user_id = :user_id AND s.thread_id = :thread_id AND s.id = known.value))

-- name: deletion.of_unknown
SELECT id, level, method, rejected, created_at, (
    SELECT json_group_array(known.value) FROM json_each(sound(source_ids)) AS known
    WHERE {deletion.is_there}) AS source_ids
FROM summaries AS made WHERE user_id = :user_id AND thread_id = :thread_id AND (
    json_array_length(sound(source_ids)) = 0
    OR EXISTS (SELECT 1 FROM json_each(sound(source_ids)) AS known WHERE NOT {deletion.is_there}))

-- name: deletion.threads
-- All of them are also those that have lost their row, but not what was said in them.
SELECT thread_id FROM threads WHERE user_id = :user_id AND (:thread_id IS NULL OR thread_id = :thread_id)
UNION SELECT thread_id FROM messages WHERE user_id = :user_id AND :thread_id IS NULL
UNION SELECT thread_id FROM summaries WHERE user_id = :user_id AND :thread_id IS NULL
UNION SELECT thread_id FROM summary_versions WHERE user_id = :user_id AND :thread_id IS NULL
UNION SELECT thread_id FROM vectors WHERE user_id = :user_id AND :thread_id IS NULL
UNION SELECT thread_id FROM facts WHERE user_id = :user_id AND :thread_id IS NULL
UNION SELECT thread_id FROM pins WHERE user_id = :user_id AND :thread_id IS NULL
UNION SELECT thread_id FROM turn_reports WHERE user_id = :user_id AND :thread_id IS NULL
ORDER BY thread_id

-- name: deletion.said
SELECT thread_id, id, role, text, created_at FROM messages WHERE user_id = :user_id AND {deletion.scope}

-- name: deletion.span
SELECT thread_id, id FROM messages
WHERE user_id = :user_id AND (:thread_id IS NULL OR thread_id = :thread_id)
  AND (:since IS NULL OR created_at >= :since) AND (:until IS NULL OR created_at < :until)

-- name: deletion.copies
WITH mine AS MATERIALIZED (
    SELECT thread_id, id, said_as(id) AS said_as, created_at,
           CASE WHEN json_valid(message) THEN json_extract(message, '$.data.content') ELSE message END AS content
    FROM messages WHERE user_id = :user_id AND said_as(id) IN (SELECT value FROM json_each(:said_as))
)
SELECT thread_id, id FROM mine WHERE (said_as, created_at, content) IN (
    SELECT said_as, created_at, content FROM mine
    WHERE thread_id = :thread_id AND (id IN (SELECT value FROM json_each(:ids))
                                      OR said_as IN (SELECT value FROM json_each(:ids))))

-- name: deletion.quoting
WITH quote AS MATERIALIZED (SELECT value, spelled(value) AS spelled FROM json_each(:quotes))
SELECT thread_id, id, role, text, CASE WHEN role <> 'user' THEN message END AS message FROM messages
WHERE user_id = :user_id AND created_at >= :since
  AND EXISTS (SELECT 1 FROM quote WHERE instr(text, value) > 0 OR role <> 'user' AND instr(message, spelled) > 0)

-- name: deletion.said_after
WITH said AS (
    SELECT id, role, id IN (SELECT value FROM json_each(:ids)) AS gone,
           sum(CASE WHEN role = 'user' THEN 1 ELSE 0 END) OVER (ORDER BY seq) AS exchange
    FROM messages WHERE user_id = :user_id AND thread_id = :thread_id
)
SELECT id FROM said WHERE role = 'user' AND NOT gone AND exchange - 1 IN (SELECT exchange FROM said WHERE gone)

-- name: deletion.facts_from
SELECT id, state FROM facts WHERE user_id = :user_id AND {deletion.scope_of_source}

-- name: deletion.facts
DELETE FROM facts WHERE user_id = :user_id AND id IN (SELECT value FROM json_each(:facts))

-- name: deletion.numbers
INSERT INTO forgotten_numbers SELECT user_id, thread_id, seq FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))
ON CONFLICT (user_id, thread_id, seq) DO NOTHING

-- name: deletion.all_numbers
DELETE FROM forgotten_numbers WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))

-- name: deletion.left_out
DELETE FROM left_out WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))

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

-- name: deletion.texts
SELECT id, role, name, text FROM messages
WHERE user_id = :user_id AND thread_id = :thread_id AND id IN (SELECT value FROM json_each(:ids))

-- name: deletion.turn_reports
DELETE FROM turn_reports WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))

-- name: deletion.reports_quoting
-- A damaged one may say anything: it comes as null.
WITH found AS (
    SELECT thread_id, turn, CASE WHEN json_valid(report) THEN report ELSE 'null' END AS report FROM turn_reports
    WHERE user_id = :user_id
)
SELECT thread_id, turn, report, json_type(report) = 'text' AS is_sealed FROM found
WHERE json_type(report) <> 'object' OR EXISTS (
          SELECT 1 FROM json_each(report, '$.memories') AS memory
          WHERE CASE WHEN memory.type = 'object'
                THEN json_extract(memory.value, '$.thread_id') IN (SELECT value FROM json_each(:threads))
                  OR (json_extract(memory.value, '$.thread_id') = :thread_id
                      AND EXISTS (SELECT 1 FROM json_each(memory.value, '$.source_ids') AS source
                                  WHERE source.value IN (SELECT value FROM json_each(:ids)))) END)
   OR (thread_id = :thread_id
       AND (json_extract(report, '$.question') IN (SELECT value FROM json_each(:questions))
            OR EXISTS (SELECT 1 FROM json_each(report, '$.summaries') AS made
                       WHERE CASE WHEN made.type = 'object'
                             THEN json_extract(made.value, '$.id') IN (SELECT value FROM json_each(:ids)) END)
            OR EXISTS (SELECT 1 FROM json_each(:words) AS word
                       WHERE instr(lower(coalesce(json_extract(report, '$.search.query'), '') || ' '
                                         || coalesce(json_extract(report, '$.search.sent'), '')), word.value) > 0)))

-- name: deletion.checkpoint_writes
DELETE FROM writes WHERE thread_id IN (
    SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads)))

-- name: deletion.checkpoint_blobs
-- There are none beside the checkpoints.
SELECT :user_id

-- name: deletion.checkpoints
DELETE FROM checkpoints WHERE thread_id IN (
    SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads)))

-- name: deletion.old_checkpoints
DELETE FROM checkpoints
WHERE thread_id = (SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id = :thread_id)
  AND checkpoint_id < (SELECT checkpoint_id FROM checkpoints AS new
                       WHERE new.thread_id = checkpoints.thread_id AND new.checkpoint_ns = checkpoints.checkpoint_ns
                       ORDER BY checkpoint_id DESC LIMIT 1 OFFSET :kept - 1)

-- name: deletion.old_writes
DELETE FROM writes
WHERE thread_id = (SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id = :thread_id)
  AND NOT EXISTS (SELECT 1 FROM checkpoints AS kept
                  WHERE kept.thread_id = writes.thread_id AND kept.checkpoint_ns = writes.checkpoint_ns
                    AND kept.checkpoint_id = writes.checkpoint_id)

-- name: deletion.old_blobs
-- There are none beside the checkpoints; this keeps the parameters of the other database.
SELECT :user_id, :thread_id

-- name: deletion.states
SELECT 'checkpoint' AS kind, checkpoint_ns, checkpoint_id AS place, '' AS task_id, 0 AS idx, NULL AS channel, type,
       checkpoint AS value
FROM checkpoints WHERE thread_id = (SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id = :thread_id)
UNION ALL
SELECT 'write', checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value
FROM writes WHERE thread_id = (SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id = :thread_id)

-- name: deletion.keep_checkpoint
UPDATE checkpoints SET type = :type, checkpoint = :value
WHERE thread_id = (SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id = :thread_id)
  AND checkpoint_ns = :checkpoint_ns AND checkpoint_id = :place

-- name: deletion.keep_blob
-- There are none beside the checkpoints.
SELECT :user_id, :thread_id

-- name: deletion.keep_write
UPDATE writes SET type = :type, value = :value
WHERE thread_id = (SELECT thread_id FROM threads WHERE user_id = :user_id AND thread_id = :thread_id)
  AND checkpoint_ns = :checkpoint_ns AND checkpoint_id = :place AND task_id = :task_id AND idx = :idx

-- name: deletion.own_threads
DELETE FROM threads WHERE user_id = :user_id AND thread_id IN (SELECT value FROM json_each(:threads))
