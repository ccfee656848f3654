-- name: vectors.add
INSERT INTO vectors (langchain_id, content, embedding, langchain_metadata, user_id, thread_id, source_type, source_id,
                     role, model, created_at)
SELECT new.id, new.content, new.embedding::vector, new.metadata, :user_id, new.thread_id, new.source_type,
       new.source_id, new.role, :model, new.created_at
FROM unnest(:ids::uuid[], :contents::text[], :embeddings::text[], :metadata::json[], :thread_ids::text[],
            :source_types::text[], :source_ids::text[], :roles::text[], :created::timestamptz[], :versions::int[])
     AS new(id, content, embedding, metadata, thread_id, source_type, source_id, role, created_at, version)
WHERE EXISTS (SELECT FROM messages AS m WHERE m.user_id = :user_id AND m.thread_id = new.thread_id
              AND m.id = new.source_id AND new.source_type = 'message')
   OR EXISTS (SELECT FROM summaries AS s WHERE s.user_id = :user_id AND s.thread_id = new.thread_id
              AND s.id = new.source_id AND new.source_type = 'summary' AND s.version = new.version)
ON CONFLICT (user_id, langchain_id) DO UPDATE SET content = excluded.content, embedding = excluded.embedding,
    langchain_metadata = excluded.langchain_metadata, thread_id = excluded.thread_id, role = excluded.role,
    source_type = excluded.source_type, source_id = excluded.source_id, model = excluded.model,
    created_at = excluded.created_at
WHERE ROW(vectors.content, vectors.thread_id, vectors.source_type, vectors.source_id,
       vectors.role, vectors.model, vectors.created_at)
      IS DISTINCT FROM ROW(excluded.content, excluded.thread_id, excluded.source_type, excluded.source_id,
       excluded.role, excluded.model, excluded.created_at)

-- name: vectors.remove_left_over
-- Of a summary that was made again, the chunks that the new text has not.
DELETE FROM vectors WHERE user_id = :user_id AND source_type = 'summary' AND thread_id = ANY(:summary_threads)
  AND source_id = ANY(:summary_ids) AND langchain_id <> ALL(:ids::uuid[])

-- name: vectors.remove_other_sizes
DELETE FROM vectors WHERE user_id = :user_id AND langchain_id = ANY(:ids::uuid[])
  AND vector_dims(embedding) <> :dimensions

-- name: vectors.done_messages
UPDATE messages SET embedded_with = :model
FROM unnest(:done_types::text[], :done_threads::text[], :done_ids::text[]) AS done(kind, t, i)
WHERE user_id = :user_id AND done.kind = 'message' AND thread_id = done.t AND id = done.i

-- name: vectors.done_summaries
UPDATE summaries SET embedded_with = :model
FROM unnest(:done_types::text[], :done_threads::text[], :done_ids::text[], :done_versions::int[])
     AS done(kind, t, i, v)
WHERE user_id = :user_id AND done.kind = 'summary' AND thread_id = done.t AND id = done.i AND version = done.v

-- name: vectors.pending
(SELECT 'message' AS source_type, thread_id, id, role, name, text, created_at, embedded_with,
        1 AS version, message #> '{data,tool_calls}' AS calls FROM messages
 WHERE user_id = :user_id AND embedded_with IS NULL AND thread_id || '/' || id <> ALL(:refused)
 ORDER BY created_at DESC LIMIT :limit)
UNION ALL
(SELECT 'summary', thread_id, id, 'assistant', NULL, content, created_at, embedded_with, version, NULL FROM summaries
 WHERE user_id = :user_id AND embedded_with IS NULL AND thread_id || '/' || id <> ALL(:refused)
 LIMIT :limit)

-- name: vectors.passages
SELECT DISTINCT ON (v.thread_id, v.source_id) v.thread_id, v.source_id, v.content
FROM unnest(:threads::text[], :ids::text[]) AS wanted(thread_id, id)
JOIN vectors AS v ON v.user_id = :user_id AND v.model = :model AND v.thread_id = wanted.thread_id
                 AND v.source_id = wanted.id AND vector_dims(v.embedding) = :dimensions
ORDER BY v.thread_id, v.source_id, v.embedding <=> :query::vector

-- name: vectors.stored
-- Three steps through the index (user_id, model, ...), however many vectors there are.
(SELECT model, vector_dims(embedding) AS dimensions FROM vectors
 WHERE user_id = :user_id AND model < :model ORDER BY model DESC LIMIT 1)
UNION ALL
(SELECT model, vector_dims(embedding) FROM vectors
 WHERE user_id = :user_id AND model > :model ORDER BY model LIMIT 1)
UNION ALL
(SELECT model, vector_dims(embedding) FROM vectors WHERE user_id = :user_id AND model = :model LIMIT 1)
