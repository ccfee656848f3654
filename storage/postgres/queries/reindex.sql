-- name: reindex.forget_messages
UPDATE messages AS m SET embedded_with = NULL FROM vectors AS v
WHERE v.user_id = :user_id AND v.model = :model AND v.source_type = 'message'
  AND vector_dims(v.embedding) <> :dimensions
  AND m.user_id = :user_id AND m.thread_id = v.thread_id AND m.id = v.source_id AND m.embedded_with = :model

-- name: reindex.forget_summaries
UPDATE summaries AS s SET embedded_with = NULL FROM vectors AS v
WHERE v.user_id = :user_id AND v.model = :model AND v.source_type = 'summary'
  AND vector_dims(v.embedding) <> :dimensions
  AND s.user_id = :user_id AND s.thread_id = v.thread_id AND s.id = v.source_id AND s.embedded_with = :model

-- name: reindex.remove_strays
DELETE FROM vectors AS v WHERE v.user_id = :user_id
  AND (v.model <> :model OR vector_dims(v.embedding) <> :dimensions)
  AND NOT EXISTS (SELECT FROM messages AS m WHERE m.user_id = :user_id AND m.thread_id = v.thread_id
                  AND m.id = v.source_id AND v.source_type = 'message' AND m.embedded_with IS DISTINCT FROM :model)
  AND NOT EXISTS (SELECT FROM summaries AS s WHERE s.user_id = :user_id AND s.thread_id = v.thread_id
                  AND s.id = v.source_id AND v.source_type = 'summary' AND s.embedded_with IS DISTINCT FROM :model)
