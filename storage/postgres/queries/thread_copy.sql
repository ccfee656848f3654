-- name: thread_copy.owner
SELECT user_id FROM threads WHERE thread_id = :thread_id

-- name: thread_copy.threads
INSERT INTO threads (thread_id, user_id, retention)
SELECT :target, :user_id, retention FROM threads WHERE user_id = :user_id AND thread_id = :source
ON CONFLICT (thread_id) DO NOTHING

-- name: thread_copy.messages
INSERT INTO messages (user_id, thread_id, id, seq, role, name, text, message, tokens, created_at,
                      embedded_with, term_keys, facts_read, left_at)
SELECT user_id, :target, id, seq, role, name, text, message, tokens, created_at,
       embedded_with, term_keys, true, left_at
FROM messages WHERE user_id = :user_id AND thread_id = :source
ON CONFLICT (user_id, thread_id, id) DO NOTHING

-- name: thread_copy.summaries
INSERT INTO summaries (user_id, thread_id, id, level, content, source_ids, method, model, tokens, covers, rejected,
                       version, created_at, embedded_with, tries, left_at)
SELECT user_id, :target, id, level, content, source_ids, method, model, tokens, covers, rejected,
       version, created_at, embedded_with, tries, left_at
FROM summaries WHERE user_id = :user_id AND thread_id = :source
ON CONFLICT (user_id, thread_id, id) DO NOTHING

-- name: thread_copy.summary_versions
INSERT INTO summary_versions (user_id, thread_id, id, version, content, method, model, tokens, rejected, replaced_at)
SELECT user_id, :target, id, version, content, method, model, tokens, rejected, replaced_at
FROM summary_versions WHERE user_id = :user_id AND thread_id = :source
ON CONFLICT (user_id, thread_id, id, version) DO NOTHING

-- name: thread_copy.vectors
INSERT INTO vectors (langchain_id, content, embedding, langchain_metadata, user_id, thread_id, source_type, source_id,
                     role, model, created_at)
SELECT gen_random_uuid(), content, embedding, langchain_metadata, user_id, :target, source_type, source_id,
       role, model, created_at
FROM vectors WHERE user_id = :user_id AND thread_id = :source AND NOT EXISTS (
    SELECT FROM vectors AS there WHERE there.user_id = :user_id AND there.thread_id = :target)

-- name: thread_copy.turn_reports
INSERT INTO turn_reports (user_id, thread_id, turn, started_at, report)
SELECT user_id, :target, turn, started_at, report
FROM turn_reports WHERE user_id = :user_id AND thread_id = :source
ON CONFLICT (user_id, thread_id, turn) DO NOTHING

-- name: thread_copy.forgotten_numbers
INSERT INTO forgotten_numbers SELECT user_id, :target, seq FROM forgotten_numbers
WHERE user_id = :user_id AND thread_id = :source ON CONFLICT (user_id, thread_id, seq) DO NOTHING
