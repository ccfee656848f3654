-- name: exchanges.exchanges
-- The order has the few messages around a hit sought by their numbers: else the whole thread is read for each hit. The
-- bounds are worked out before: what is worked out from a row may not seek rows that row-level security hides.
-- A reply is what an assistant says without calling a tool. A hit on a call or on a result brings the whole exchange.
WITH found AS MATERIALIZED (
    SELECT hit.id AS hit_id, hit.thread_id, m.seq, m.role, kind.of_tools, m.seq - reach.in_steps AS first,
           m.seq + reach.in_steps AS last, m.seq - reach.of_tools AS first_of_tools, m.seq + reach.of_tools AS last_of_tools
    FROM unnest(:thread_ids::text[], :ids::text[]) AS hit(thread_id, id)
    JOIN messages AS m ON m.user_id = :user_id AND m.thread_id = hit.thread_id AND m.id = hit.id
    CROSS JOIN LATERAL (SELECT m.role = 'tool' OR m.message #> '{data,tool_calls,0}' IS NOT NULL AS of_tools) AS kind
    CROSS JOIN LATERAL (SELECT CASE WHEN kind.of_tools THEN :tool_reach::int ELSE :reach::int END AS in_steps,
                               CASE WHEN kind.of_tools THEN :tool_reach::int ELSE 0 END AS of_tools) AS reach
)
SELECT found.hit_id, found.thread_id, m.seq, m.id, m.role, m.name, m.text, m.created_at, m.calls, m.written_at
FROM found
LEFT JOIN LATERAL (
    SELECT seq FROM messages a WHERE a.user_id = :user_id AND a.thread_id = found.thread_id AND a.role = 'user'
       AND a.left_at IS NULL AND a.seq < found.seq AND a.seq >= found.first
       AND found.role IN ('assistant', 'agent', 'tool')
    ORDER BY a.seq DESC LIMIT 1
) AS query ON true
LEFT JOIN LATERAL (
    SELECT seq FROM messages b WHERE b.user_id = :user_id AND b.thread_id = found.thread_id
       AND b.left_at IS NULL AND b.seq > found.seq AND b.seq <= found.last
       AND (found.role = 'user' OR found.of_tools)
       AND (b.role IN ('assistant', 'agent') AND b.text ~ '\S' AND b.message #> '{data,tool_calls,0}' IS NULL
            OR found.of_tools AND b.role = 'user')
    ORDER BY b.seq LIMIT 1
) AS reply ON true
JOIN LATERAL (
    SELECT c.seq, c.id, c.role, c.name, c.text, c.created_at, c.message #> '{data,tool_calls}' AS calls,
           c.message #>> '{data,additional_kwargs,created_at}' AS written_at
    FROM messages c WHERE c.user_id = :user_id AND c.thread_id = found.thread_id
       AND c.left_at IS NULL
       AND c.seq >= CASE WHEN query.seq IS NULL THEN found.first_of_tools ELSE query.seq END
       AND c.seq <= CASE WHEN reply.seq IS NULL THEN found.last_of_tools ELSE reply.seq END
       AND (c.seq IN (query.seq, found.seq)
            OR c.seq = reply.seq AND c.role <> 'user'
            OR found.of_tools AND (c.role = 'tool' OR c.message #> '{data,tool_calls,0}' IS NOT NULL))
    ORDER BY c.seq LIMIT :most
) AS m ON true
UNION ALL
SELECT s.id, s.thread_id, 0, s.id, 'assistant', 'summary', s.content, s.created_at, NULL, NULL
FROM unnest(:thread_ids::text[], :ids::text[]) AS hit(thread_id, id)
JOIN summaries s ON s.user_id = :user_id AND s.thread_id = hit.thread_id AND s.id = hit.id
     AND (:extracts::boolean OR s.method <> 'extractive' OR cardinality(s.source_ids) = 0 OR EXISTS (
         SELECT FROM unnest(s.source_ids) AS made(id)
         WHERE NOT EXISTS (SELECT FROM messages AS m WHERE m.user_id = :user_id AND m.thread_id = s.thread_id
                           AND m.id = made.id)
           AND NOT EXISTS (SELECT FROM summaries AS b WHERE b.user_id = :user_id AND b.thread_id = s.thread_id
                           AND b.id = made.id)))
