-- name: thread_copy.vectors
INSERT INTO vectors (langchain_id, content, embedding, langchain_metadata, user_id, thread_id, source_type, source_id,
                     role, model, created_at)
SELECT gen_random_uuid(), content, embedding, langchain_metadata, user_id, :target, source_type, source_id,
       role, model, created_at
FROM vectors WHERE user_id = :user_id AND thread_id = :source AND NOT EXISTS (SELECT 1 FROM vectors AS there
    WHERE there.user_id = :user_id AND there.thread_id = :target)
