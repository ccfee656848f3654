-- As 020_search_cache_of_users.sql: web results are kept for each user alone.
DROP TABLE search_cache;
CREATE TABLE search_cache (
    user_id    text NOT NULL,
    key        blob NOT NULL,
    results    text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (user_id, key)
) WITHOUT ROWID;
CREATE INDEX search_cache_age ON search_cache (created_at);
CREATE INDEX search_cache_newest ON search_cache (user_id, created_at);
