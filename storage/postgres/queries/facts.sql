-- name: facts.unread
-- A name on a message is the user's where it is their id, or where all of the thread bear it.
SELECT m.thread_id, m.id, left(m.text, :characters) AS text, m.created_at, asked.id AS before_id,
       m.name IS NOT NULL AND m.name <> :own_name AND EXISTS (
           SELECT FROM messages AS c WHERE c.user_id = :user_id AND c.thread_id = m.thread_id AND c.role = 'user'
           AND c.name IS DISTINCT FROM m.name) AS of_another,
       left(asked.text, :characters) AS before, left(said.text, :characters) AS reply
FROM (SELECT * FROM messages WHERE user_id = :user_id AND role = 'user' AND NOT facts_read AND left_at IS NULL
      ORDER BY created_at, seq LIMIT :limit) AS m
LEFT JOIN LATERAL (SELECT id, text, seq FROM messages a WHERE a.user_id = :user_id AND a.thread_id = m.thread_id
                   AND a.seq < m.seq AND a.role = 'user' ORDER BY a.seq DESC LIMIT 1) AS asked ON true
LEFT JOIN LATERAL (SELECT text FROM messages b WHERE b.user_id = :user_id AND b.thread_id = m.thread_id
                   AND b.seq < m.seq AND b.seq > asked.seq AND b.role = 'assistant'
                   ORDER BY b.seq DESC LIMIT 1) AS said ON true
ORDER BY m.created_at, m.seq

-- name: facts.read
UPDATE messages SET facts_read = true
FROM unnest(:threads::text[], :ids::text[]) AS done(thread_id, id)
WHERE user_id = :user_id AND messages.thread_id = done.thread_id AND messages.id = done.id
RETURNING messages.id

-- name: facts.not_read
UPDATE messages SET facts_read = false
FROM unnest(:threads::text[], :ids::text[]) AS done(thread_id, id)
WHERE user_id = :user_id AND messages.thread_id = done.thread_id AND messages.id = done.id

-- name: facts.related
SELECT * FROM facts
WHERE user_id = :user_id AND (meaning = ANY(:meanings::uuid[]) OR slot = ANY(:slots::uuid[])
                                 OR id = ANY(:ids::text[]))
  AND NOT EXISTS (SELECT FROM messages AS left_ WHERE left_.user_id = :user_id
                  AND left_.thread_id = facts.thread_id AND left_.id = facts.source_id AND left_.left_at IS NOT NULL)

-- name: facts.open
SELECT * FROM facts WHERE user_id = :user_id AND state IN ('current', 'conflicting')
ORDER BY said_at DESC LIMIT :limit

-- name: facts.all
SELECT facts.*, m.left_at
FROM facts LEFT JOIN messages AS m
    ON m.user_id = facts.user_id AND m.thread_id = facts.thread_id AND m.id = facts.source_id
WHERE facts.user_id = :user_id ORDER BY said_at, facts.id

-- name: facts.pins
SELECT * FROM pins
WHERE user_id = :user_id
  AND (:forgotten OR forgotten_at IS NULL AND NOT EXISTS (
      SELECT FROM messages AS left_ WHERE left_.user_id = :user_id
      AND left_.thread_id = pins.thread_id AND left_.id = pins.source_id AND left_.left_at IS NOT NULL))
ORDER BY created_at, id

-- name: facts.outdated
SELECT facts.*, substr(m.text, 1, :characters) AS said
FROM facts LEFT JOIN messages AS m
    ON m.user_id = facts.user_id AND m.thread_id = facts.thread_id AND m.id = facts.source_id
WHERE facts.user_id = :user_id AND facts.outdated LIMIT :limit

-- part: facts.facts_given
-- The rows that are given, as columns of the table.
FROM jsonb_to_recordset(:rows::jsonb) AS new(
    id text, thread_id text, kind text, text text, subject text, attribute text, value text, negated boolean,
    settles boolean, terms text[], state text, source_id text, said_at timestamptz, confirmed_at timestamptz,
    valid_from timestamptz, valid_to timestamptz, superseded_by text, confidence double precision, origin text,
    meaning uuid, slot uuid, weight double precision, term_keys bigint[])

-- name: facts.upsert_facts
INSERT INTO facts
SELECT :user_id, new.*, false {facts.facts_given}
ON CONFLICT (user_id, id) DO UPDATE SET kind = excluded.kind, confidence = excluded.confidence,
    state = excluded.state, confirmed_at = excluded.confirmed_at,
    valid_from = excluded.valid_from, valid_to = excluded.valid_to, superseded_by = excluded.superseded_by,
    terms = excluded.terms, attribute = excluded.attribute, meaning = excluded.meaning, slot = excluded.slot,
    weight = excluded.weight, term_keys = excluded.term_keys, outdated = facts.outdated AND NOT :read_again

-- part: facts.pins_given
-- The rows that are given, as columns of the table.
FROM jsonb_to_recordset(:rows::jsonb) AS new(
    id text, thread_id text, text text, kind text, score double precision, source_id text, created_at timestamptz,
    forgotten_at timestamptz)

-- name: facts.upsert_pins
INSERT INTO pins
SELECT :user_id, new.* {facts.pins_given}
ON CONFLICT (user_id, id) DO UPDATE SET forgotten_at = coalesce(pins.forgotten_at, excluded.forgotten_at)

-- name: facts.pin_again
UPDATE pins SET kind = 'manual', score = :score, forgotten_at = NULL WHERE user_id = :user_id AND id = :id

-- name: facts.sheet
-- Of both pools together, what the question names comes first, as `facts.sheet.importance` has it.
WITH found AS (
    (SELECT * FROM facts
     WHERE user_id = :user_id AND state IN ('current', 'conflicting')
       AND (:thread_only::text IS NULL OR thread_id = :thread_only)
       AND NOT EXISTS (SELECT FROM messages AS left_ WHERE left_.user_id = :user_id
                       AND left_.thread_id = facts.thread_id AND left_.id = facts.source_id
                       AND left_.left_at IS NOT NULL)
     ORDER BY weight DESC, said_at DESC LIMIT :pool)
    UNION
    (SELECT * FROM facts
     WHERE user_id = :user_id AND term_keys && :keys::bigint[] AND state IN ('current', 'conflicting')
       AND (:thread_only::text IS NULL OR thread_id = :thread_only)
       AND NOT EXISTS (SELECT FROM messages AS left_ WHERE left_.user_id = :user_id
                       AND left_.thread_id = facts.thread_id AND left_.id = facts.source_id
                       AND left_.left_at IS NOT NULL)
     ORDER BY said_at DESC LIMIT :pool)
), ranked AS (
    SELECT found.*,
           row_number() OVER (ORDER BY weight + CASE WHEN n > 0 THEN 1 + n / cardinality(:keys::bigint[]) ELSE 0 END
                              DESC, said_at DESC, id DESC) AS ordinal
    FROM found
    CROSS JOIN LATERAL (SELECT count(*)::float8 AS n FROM unnest(term_keys) AS k
                        WHERE k = ANY(:keys::bigint[])) AS shared
    WHERE NOT (thread_id = :thread_id AND source_id = ANY(:newest::text[]))
    ORDER BY ordinal LIMIT :most
)
(SELECT 'fact' AS what, to_jsonb(f) AS row, ordinal FROM ranked AS f)
UNION ALL
(SELECT 'pin', to_jsonb(p),
        row_number() OVER (ORDER BY kind = 'manual' DESC, score + coalesce(m.importance, 0) DESC, p.created_at DESC)
            AS ordinal
 FROM pins AS p LEFT JOIN LATERAL (SELECT importance FROM messages AS said WHERE said.user_id = :user_id
                                   AND said.thread_id = p.thread_id AND said.id = p.source_id) AS m ON true
 WHERE user_id = :user_id AND forgotten_at IS NULL
   AND (thread_id = :thread_id OR (kind = 'manual' AND :thread_only::text IS NULL))
   AND NOT (kind = 'automatic' AND source_id = ANY(:live::text[]))
   AND NOT EXISTS (SELECT FROM messages AS left_ WHERE left_.user_id = :user_id
                   AND left_.thread_id = p.thread_id AND left_.id = p.source_id AND left_.left_at IS NOT NULL)
 ORDER BY ordinal LIMIT :max_pins)
ORDER BY what, ordinal

-- name: facts.forget_fact
UPDATE facts SET state = 'forgotten', valid_to = greatest(:moment, confirmed_at)
WHERE user_id = :user_id AND id = :id AND state <> 'forgotten' RETURNING text

-- name: facts.forget_pin
UPDATE pins SET forgotten_at = :moment
WHERE user_id = :user_id AND id = :id AND forgotten_at IS NULL RETURNING text

-- name: facts.touched
-- The facts that are about to be deleted, those that they superseded, and the open ones of the same slots.
WITH gone AS (SELECT id, slot FROM facts WHERE user_id = :user_id AND id = ANY(:gone::text[]))
SELECT * FROM facts
WHERE user_id = :user_id
  AND (id IN (SELECT id FROM gone) OR superseded_by IN (SELECT id FROM gone)
       OR state IN ('current', 'conflicting') AND slot IN (SELECT slot FROM gone WHERE slot IS NOT NULL))

-- name: facts.read_again
-- What is said again elsewhere is not stored again: the fact only tells when that was. What the user
-- wanted forgotten is not read again.
UPDATE messages SET facts_read = false
WHERE user_id = :user_id AND role = 'user'
  AND created_at IN (SELECT confirmed_at FROM facts
                     WHERE user_id = :user_id AND id = ANY(:gone::text[]) AND confirmed_at > said_at
                       AND state IN ('current', 'conflicting'))
