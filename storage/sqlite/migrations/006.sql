-- As 014_summarized.sql: what is summarized follows from the sources of the summaries.
DROP INDEX messages_chunks;
ALTER TABLE messages DROP COLUMN active;
ALTER TABLE messages DROP COLUMN chunk_id;
ALTER TABLE summaries DROP COLUMN active;
CREATE VIEW summarized AS
SELECT s.user_id, s.thread_id, source.value AS id
FROM summaries AS s CROSS JOIN json_each(s.source_ids) AS source WHERE s.left_at IS NULL;
