-- The keyword arm's index: each term of a message as a number made of user and term, so that one index serves every
-- user's own statistics. NULL is still to be done; the background pass does it.
DROP INDEX messages_without_terms;
ALTER TABLE messages DROP COLUMN terms;
ALTER TABLE messages ADD COLUMN term_keys bigint[];
ALTER TABLE messages ADD COLUMN term_count integer GENERATED ALWAYS AS (coalesce(cardinality(term_keys), 0)) STORED;
CREATE INDEX messages_without_terms ON messages (user_id) WHERE term_keys IS NULL;
CREATE INDEX messages_terms ON messages USING gin (term_keys) WITH (fastupdate = off);
CREATE INDEX messages_places ON messages (user_id, thread_id, seq) INCLUDE (created_at, term_count);
