-- Messages are found by the tools that they call, and by what these are given, and results by the name of their tool: terms
-- and vectors of such messages are made again, by the background pass.
UPDATE messages SET term_keys = NULL, embedded_with = CASE WHEN embedded_with = '' THEN '' END
WHERE role = 'tool' OR message #> '{data,tool_calls,0}' IS NOT NULL;
