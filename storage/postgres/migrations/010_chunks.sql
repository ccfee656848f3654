-- The last chunk id of a thread is asked for with each summary: without this, its whole thread is read.
CREATE INDEX messages_chunks ON messages (user_id, thread_id, chunk_id) WHERE chunk_id IS NOT NULL;
