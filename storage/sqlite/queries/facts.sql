-- name: facts.unread
WITH m AS (
    SELECT thread_id, id, seq, text, created_at,
           name IS NOT NULL AND name <> :own_name AND EXISTS (
               SELECT 1 FROM messages AS c WHERE c.user_id = :user_id AND c.thread_id = new.thread_id
               AND c.role = 'user' AND c.name IS NOT new.name) AS of_another,
           (SELECT max(a.seq) FROM messages AS a WHERE a.user_id = :user_id AND a.thread_id = new.thread_id
            AND a.seq < new.seq AND a.role = 'user') AS asked
    FROM messages AS new WHERE user_id = :user_id AND role = 'user' AND NOT facts_read AND left_at IS NULL
    ORDER BY created_at, seq LIMIT :limit)
SELECT m.thread_id, m.id, substr(m.text, 1, :characters) AS text, m.created_at, m.of_another, before.id AS before_id,
       substr(before.text, 1, :characters) AS before,
       (SELECT substr(b.text, 1, :characters) FROM messages AS b WHERE b.user_id = :user_id
        AND b.thread_id = m.thread_id AND b.seq < m.seq AND b.seq > m.asked AND b.role = 'assistant'
        ORDER BY b.seq DESC LIMIT 1) AS reply
FROM m LEFT JOIN messages AS before ON before.user_id = :user_id AND before.thread_id = m.thread_id
                                   AND before.seq = m.asked
ORDER BY m.created_at, m.seq

-- name: facts.read
UPDATE messages SET facts_read = true
FROM (SELECT json_extract(value, '$[0]') AS thread_id, json_extract(value, '$[1]') AS id
    FROM json_each(zipped(:threads, :ids)) LIMIT -1) AS done
WHERE user_id = :user_id AND messages.thread_id = done.thread_id AND messages.id = done.id
RETURNING messages.id

-- name: facts.not_read
UPDATE messages SET facts_read = false
FROM (SELECT json_extract(value, '$[0]') AS thread_id, json_extract(value, '$[1]') AS id
    FROM json_each(zipped(:threads, :ids)) LIMIT -1) AS done
WHERE user_id = :user_id AND messages.thread_id = done.thread_id AND messages.id = done.id

-- name: facts.related
SELECT * FROM facts
WHERE user_id = :user_id AND (meaning IN (SELECT value FROM json_each(:meanings)) OR slot IN (SELECT value
    FROM json_each(:slots))
                                 OR id IN (SELECT value FROM json_each(:ids)))
  AND NOT EXISTS (SELECT 1 FROM messages AS left_ WHERE left_.user_id = :user_id
                  AND left_.thread_id = facts.thread_id AND left_.id = facts.source_id AND left_.left_at IS NOT NULL)

-- part: facts.facts_given
-- The rows that are given, as columns of the table.
FROM (SELECT json_extract(value, '$.id') AS id,
    json_extract(value, '$.thread_id') AS thread_id, json_extract(value, '$.kind') AS kind,
    json_extract(value, '$.text') AS text,
    json_extract(value, '$.subject') AS subject, json_extract(value, '$.attribute') AS attribute,
        json_extract(value, '$.value') AS value, json_extract(value, '$.negated') AS negated,
        json_extract(value, '$.settles') AS settles,
    json_extract(value, '$.terms') AS terms, json_extract(value, '$.state') AS state,
        json_extract(value, '$.source_id') AS source_id, moment(json_extract(value, '$.said_at')) AS said_at,
        moment(json_extract(value, '$.confirmed_at')) AS confirmed_at,
        moment(json_extract(value, '$.valid_from')) AS valid_from,
    moment(json_extract(value, '$.valid_to')) AS valid_to, json_extract(value, '$.superseded_by') AS superseded_by,
    json_extract(value, '$.confidence') AS confidence, json_extract(value, '$.origin') AS origin,
        json_extract(value, '$.meaning') AS meaning, json_extract(value, '$.slot') AS slot,
        json_extract(value, '$.weight') AS weight,
    json_extract(value, '$.term_keys') AS term_keys FROM json_each(:rows) LIMIT -1) AS new WHERE true

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
FROM (SELECT json_extract(value, '$.id') AS id,
    json_extract(value, '$.thread_id') AS thread_id, json_extract(value, '$.text') AS text,
    json_extract(value, '$.kind') AS kind,
    json_extract(value, '$.score') AS score, json_extract(value, '$.source_id') AS source_id,
    moment(json_extract(value, '$.created_at')) AS created_at,
        moment(json_extract(value, '$.forgotten_at')) AS forgotten_at FROM json_each(:rows) LIMIT -1) AS new
        WHERE true

-- name: facts.upsert_pins
INSERT INTO pins
SELECT :user_id, new.* {facts.pins_given}
ON CONFLICT (user_id, id) DO UPDATE SET forgotten_at = coalesce(pins.forgotten_at, excluded.forgotten_at)

-- name: facts.forget_fact
UPDATE facts SET state = 'forgotten', valid_to = max(:moment, confirmed_at)
WHERE user_id = :user_id AND id = :id AND state <> 'forgotten' RETURNING text

-- name: facts.touched
WITH gone AS (SELECT id, slot FROM facts WHERE user_id = :user_id AND id IN (SELECT value FROM json_each(:gone)))
SELECT * FROM facts
WHERE user_id = :user_id
  AND (id IN (SELECT id FROM gone) OR superseded_by IN (SELECT id FROM gone)
       OR state IN ('current', 'conflicting') AND slot IN (SELECT slot FROM gone WHERE slot IS NOT NULL))

-- name: facts.read_again
UPDATE messages SET facts_read = false
WHERE user_id = :user_id AND role = 'user'
  AND created_at IN (SELECT confirmed_at FROM facts
                     WHERE user_id = :user_id AND id IN (SELECT value FROM json_each(:gone))
                         AND confirmed_at > said_at
                       AND state IN ('current', 'conflicting'))
