-- What web search engines found, for a while. Not users' data: the key is a hash of engine and query, the query had what
-- is private taken out before, and no user is named.
CREATE TABLE search_cache (
    key        bytea PRIMARY KEY,
    results    jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX search_cache_age ON search_cache (created_at);
