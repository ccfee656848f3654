-- name: vectors.add
INSERT INTO vectors (langchain_id, content, embedding, langchain_metadata, user_id, thread_id, source_type, source_id,
                     role, model, created_at)
SELECT new.id, new.content, vector_bytes(new.embedding), new.metadata, :user_id, new.thread_id, new.source_type,
       new.source_id, new.role, :model, new.created_at
FROM (SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS content,
    json_extract(value, '$[2]') AS embedding, json_extract(value, '$[3]') AS metadata,
    json_extract(value, '$[4]') AS thread_id,
    json_extract(value, '$[5]') AS source_type, json_extract(value, '$[6]') AS source_id,
        json_extract(value, '$[7]') AS role, json_extract(value, '$[8]') AS created_at, json_extract(value, '$[9]') AS version FROM json_each(zipped(:ids,
        :contents, :embeddings,
    :metadata, :thread_ids, :source_types, :source_ids, :roles, :created, :versions)) LIMIT -1) AS new
WHERE EXISTS (SELECT 1 FROM messages AS m WHERE m.user_id = :user_id AND m.thread_id = new.thread_id
              AND m.id = new.source_id AND new.source_type = 'message')
   OR EXISTS (SELECT 1 FROM summaries AS s WHERE s.user_id = :user_id AND s.thread_id = new.thread_id
              AND s.id = new.source_id AND new.source_type = 'summary' AND s.version = new.version)
ON CONFLICT (langchain_id) DO UPDATE SET user_id = excluded.user_id, content = excluded.content,
    embedding = excluded.embedding,
    langchain_metadata = excluded.langchain_metadata, thread_id = excluded.thread_id, role = excluded.role,
    source_type = excluded.source_type, source_id = excluded.source_id, model = excluded.model,
    created_at = excluded.created_at
WHERE (vectors.user_id, vectors.content, vectors.thread_id, vectors.source_type, vectors.source_id,
       vectors.role, vectors.model, vectors.created_at)
      IS NOT (excluded.user_id, excluded.content, excluded.thread_id, excluded.source_type, excluded.source_id,
       excluded.role, excluded.model, excluded.created_at)

-- name: vectors.remove_left_over
DELETE FROM vectors WHERE user_id = :user_id AND source_type = 'summary' AND thread_id IN (SELECT value
    FROM json_each(:summary_threads))
  AND source_id IN (SELECT value FROM json_each(:summary_ids)) AND langchain_id NOT IN (SELECT value
      FROM json_each(:ids))

-- name: vectors.remove_other_sizes
DELETE FROM vectors WHERE user_id = :user_id AND langchain_id IN (SELECT value FROM json_each(:ids))
  AND vector_dims(embedding) <> :dimensions

-- name: vectors.done_messages
UPDATE messages SET embedded_with = :model
FROM (SELECT json_extract(value, '$[0]') AS kind, json_extract(value, '$[1]') AS t, json_extract(value, '$[2]') AS i
    FROM json_each(zipped(:done_types, :done_threads, :done_ids)) LIMIT -1) AS done
WHERE user_id = :user_id AND done.kind = 'message' AND thread_id = done.t AND id = done.i

-- name: vectors.done_summaries
UPDATE summaries SET embedded_with = :model
FROM (SELECT json_extract(value, '$[0]') AS kind, json_extract(value, '$[1]') AS t, json_extract(value, '$[2]') AS i,
    json_extract(value, '$[3]') AS v FROM json_each(zipped(:done_types, :done_threads, :done_ids, :done_versions))
    LIMIT -1) AS done
WHERE user_id = :user_id AND done.kind = 'summary' AND thread_id = done.t AND id = done.i AND version = done.v

-- name: vectors.pending
SELECT * FROM (SELECT 'message' AS source_type, thread_id, id, role, name, text, created_at, embedded_with,
        1 AS version, json_extract(sound(message), '$.data.tool_calls') AS calls FROM messages
 WHERE user_id = :user_id AND embedded_with IS NULL AND thread_id || '/' || id NOT IN (SELECT value
     FROM json_each(:refused))
 ORDER BY created_at DESC LIMIT :limit)
UNION ALL
SELECT * FROM (SELECT 'summary', thread_id, id, 'assistant', NULL, content, created_at, embedded_with, version, NULL
    FROM summaries
 WHERE user_id = :user_id AND embedded_with IS NULL AND thread_id || '/' || id NOT IN (SELECT value
     FROM json_each(:refused))
 LIMIT :limit)

-- name: vectors.passages
SELECT thread_id, source_id, content FROM (
    SELECT v.thread_id, v.source_id, v.content,
           row_number() OVER (PARTITION BY v.thread_id, v.source_id ORDER BY distance(v.embedding, :query)) AS ordinal
    FROM (SELECT json_extract(value, '$[0]') AS thread_id, json_extract(value, '$[1]') AS id
          FROM json_each(zipped(:threads, :ids))) AS wanted
    JOIN vectors AS v ON v.user_id = :user_id AND v.model = :model AND v.thread_id = wanted.thread_id
                     AND v.source_id = wanted.id AND vector_dims(v.embedding) = :dimensions)
WHERE ordinal = 1

-- name: vectors.stored
SELECT * FROM (SELECT model, vector_dims(embedding) AS dimensions FROM vectors
 WHERE user_id = :user_id AND model < :model ORDER BY model DESC LIMIT 1)
UNION ALL
SELECT * FROM (SELECT model, vector_dims(embedding) FROM vectors
 WHERE user_id = :user_id AND model > :model ORDER BY model LIMIT 1)
UNION ALL
SELECT * FROM (SELECT model, vector_dims(embedding) FROM vectors WHERE user_id = :user_id AND model = :model LIMIT 1)
