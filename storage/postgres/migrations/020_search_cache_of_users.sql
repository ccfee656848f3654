-- Web results are kept for each user alone: what one searched for is not another's to find out, and goes with its user.
-- What was kept for all is found anew.
DROP TABLE search_cache;
CREATE TABLE search_cache (
    user_id    text NOT NULL,
    key        bytea NOT NULL,
    results    jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key)
);
CREATE INDEX search_cache_age ON search_cache (created_at);
CREATE INDEX search_cache_newest ON search_cache (user_id, created_at);
