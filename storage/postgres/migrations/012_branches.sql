-- When a message left the conversation: it was edited, answered anew or removed, or the thread went on from an earlier
-- point. NULL for what is part of it. A summary leaves with a source of it. What has left is kept, and not recalled.
ALTER TABLE messages ADD COLUMN left_at timestamptz;
ALTER TABLE summaries ADD COLUMN left_at timestamptz;
CREATE INDEX messages_left ON messages (user_id, thread_id) WHERE left_at IS NOT NULL;
CREATE INDEX summaries_left ON summaries (user_id, thread_id) WHERE left_at IS NOT NULL;
