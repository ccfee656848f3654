-- When a message left the conversation: see 012_branches.sql.
ALTER TABLE messages ADD COLUMN left_at text;
ALTER TABLE summaries ADD COLUMN left_at text;
CREATE INDEX messages_left ON messages (user_id, thread_id) WHERE left_at IS NOT NULL;
CREATE INDEX summaries_left ON summaries (user_id, thread_id) WHERE left_at IS NOT NULL;
