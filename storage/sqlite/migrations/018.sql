-- As 028_calls_found.sql: messages are found by the tools that they call, results by the name of their tool.
UPDATE messages SET term_keys = NULL, embedded_with = CASE WHEN embedded_with = '' THEN '' END
WHERE role = 'tool'
   OR json_extract(CASE WHEN json_valid(message) THEN message ELSE '{}' END, '$.data.tool_calls[0]') IS NOT NULL;
