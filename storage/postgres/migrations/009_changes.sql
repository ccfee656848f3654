-- The transaction that last changed what recall reads of a row: so a process that holds a user's memory reads only what
-- changed since. What happens to rows beside that (marked as summarized, embedded, read for facts) is no change.
ALTER TABLE messages ADD COLUMN changed xid8 NOT NULL DEFAULT pg_current_xact_id();
ALTER TABLE vectors ADD COLUMN changed xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX messages_changed ON messages (user_id, changed);
CREATE INDEX vectors_changed ON vectors (user_id, model, changed);
DROP INDEX messages_places;
DROP INDEX messages_terms;
DROP INDEX vectors_user;
CREATE INDEX vectors_source ON vectors (user_id, thread_id, source_id);

CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed := pg_current_xact_id();
    RETURN NEW;
END $$;
CREATE TRIGGER messages_changed BEFORE UPDATE OF seq, role, name, text, term_keys, created_at ON messages
    FOR EACH ROW EXECUTE FUNCTION note_change();
CREATE TRIGGER vectors_changed BEFORE UPDATE ON vectors FOR EACH ROW EXECUTE FUNCTION note_change();

-- How often rows of a user were deleted: then what a process holds of them is read anew.
CREATE TABLE memory_removals (
    user_id text PRIMARY KEY,
    times   bigint NOT NULL
);
CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO %I.memory_removals SELECT DISTINCT user_id, 1 FROM gone ORDER BY user_id
                    ON CONFLICT (user_id) DO UPDATE SET times = memory_removals.times + 1', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;
CREATE TRIGGER messages_removed AFTER DELETE ON messages REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_removal();
CREATE TRIGGER vectors_removed AFTER DELETE ON vectors REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_removal();
