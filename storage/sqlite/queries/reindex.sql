-- name: reindex.remove_strays
DELETE FROM vectors AS v WHERE v.user_id = :user_id
  AND (v.model <> :model OR vector_dims(v.embedding) <> :dimensions)
  AND NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.user_id = :user_id AND m.thread_id = v.thread_id
                  AND m.id = v.source_id AND v.source_type = 'message' AND m.embedded_with IS NOT :model)
  AND NOT EXISTS (SELECT 1 FROM summaries AS s WHERE s.user_id = :user_id AND s.thread_id = v.thread_id
                  AND s.id = v.source_id AND v.source_type = 'summary' AND s.embedded_with IS NOT :model)
