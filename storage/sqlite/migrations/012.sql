-- Sources that are no JSON, as anybody may write them, must not keep the other summaries from being read.
DROP VIEW summarized;
CREATE VIEW summarized AS
SELECT s.user_id, s.thread_id, source.value AS id
FROM summaries AS s CROSS JOIN json_each(CASE WHEN json_valid(s.source_ids) THEN s.source_ids ELSE '[]' END) AS source
WHERE s.left_at IS NULL;
