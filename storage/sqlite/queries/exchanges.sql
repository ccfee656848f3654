-- name: exchanges.exchanges
WITH hit AS (
    SELECT json_extract(value, '$[0]') AS thread_id, json_extract(value, '$[1]') AS id
    FROM json_each(zipped(:thread_ids, :ids))
), found AS (
    SELECT m.id, m.thread_id, m.seq, m.role,
           m.role = 'tool' OR json_extract(sound(m.message), '$.data.tool_calls[0]') IS NOT NULL AS of_tools
    FROM hit JOIN messages AS m ON m.user_id = :user_id AND m.thread_id = hit.thread_id AND m.id = hit.id
), near AS (
    SELECT *, CASE WHEN of_tools THEN :tool_reach ELSE :reach END AS reach,
           CASE WHEN of_tools THEN :tool_reach ELSE 0 END AS beside
    FROM found
), span AS (
    SELECT *,
           (SELECT max(a.seq) FROM messages AS a WHERE a.user_id = :user_id AND a.thread_id = near.thread_id
            AND a.left_at IS NULL AND a.role = 'user' AND a.seq < near.seq AND a.seq >= near.seq - near.reach
            AND near.role IN ('assistant', 'agent', 'tool')) AS query,
           (SELECT min(b.seq) FROM messages AS b WHERE b.user_id = :user_id AND b.thread_id = near.thread_id
            AND b.left_at IS NULL AND b.seq > near.seq AND b.seq <= near.seq + near.reach
            AND (near.role = 'user' OR near.of_tools)
            AND (b.role IN ('assistant', 'agent') AND has_words(b.text)
                 AND json_extract(sound(b.message), '$.data.tool_calls[0]') IS NULL
                 OR near.of_tools AND b.role = 'user')) AS reply
    FROM near
)
SELECT span.id AS hit_id, span.thread_id, c.seq, c.id, c.role, c.name, c.text, c.created_at,
       json_extract(sound(c.message), '$.data.tool_calls') AS calls,
       json_extract(sound(c.message), '$.data.additional_kwargs.created_at') AS written_at
FROM span JOIN messages AS c ON c.user_id = :user_id AND c.thread_id = span.thread_id AND c.left_at IS NULL
     AND c.seq BETWEEN coalesce(span.query, span.seq - span.beside) AND coalesce(span.reply, span.seq + span.beside)
     AND (c.seq IN (span.query, span.seq) OR c.seq = span.reply AND c.role <> 'user'
          OR span.of_tools AND (c.role = 'tool' OR json_extract(sound(c.message), '$.data.tool_calls[0]') IS NOT NULL))
UNION ALL
SELECT s.id, s.thread_id, 0, s.id, 'assistant', 'summary', s.content, s.created_at, NULL, NULL
FROM hit JOIN summaries AS s ON s.user_id = :user_id AND s.thread_id = hit.thread_id AND s.id = hit.id
     AND (:extracts OR s.method <> 'extractive' OR json_array_length(sound(s.source_ids)) = 0 OR EXISTS (
         SELECT 1 FROM json_each(sound(s.source_ids)) AS made
         WHERE NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.user_id = :user_id AND m.thread_id = s.thread_id
                           AND m.id = made.value)
           AND NOT EXISTS (SELECT 1 FROM summaries AS b WHERE b.user_id = :user_id AND b.thread_id = s.thread_id
                           AND b.id = made.value)))
