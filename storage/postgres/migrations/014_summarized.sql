-- What stands for itself in a thread, and what a summary stands for, follows from the sources of the summaries.
DROP INDEX messages_chunks;
ALTER TABLE messages DROP COLUMN active;
ALTER TABLE messages DROP COLUMN chunk_id;
ALTER TABLE summaries DROP COLUMN active;
-- The messages and summaries that a summary of the conversation as it stands was made from.
CREATE VIEW summarized AS
SELECT s.user_id, s.thread_id, source.id
FROM summaries AS s CROSS JOIN unnest(s.source_ids) AS source(id) WHERE s.left_at IS NULL;
