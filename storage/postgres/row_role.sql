-- The role of what is done in a user's name, where the login is one that policies do not bind. Roles are of the whole
-- server: schemas share it, and two processes may make it at the same moment.
DO $$
DECLARE name text;
BEGIN
    IF NOT (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) THEN
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'everthread_rows') THEN
        BEGIN
            CREATE ROLE everthread_rows NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END IF;
    IF NOT pg_has_role(current_user, 'everthread_rows', 'MEMBER') THEN
        GRANT everthread_rows TO CURRENT_USER;
    END IF;
    FOR name IN
        SELECT nspname FROM pg_namespace WHERE NOT has_schema_privilege('everthread_rows', oid, 'USAGE')
        AND (nspname = current_schema() OR oid = (SELECT extnamespace FROM pg_extension WHERE extname = 'vector'))
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO everthread_rows', name);
    END LOOP;
    FOR name IN
        SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v')
        AND NOT relispartition AND relname NOT LIKE '%migrations' AND NOT has_table_privilege('everthread_rows', oid, 'SELECT')
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO everthread_rows', name);
    END LOOP;
END $$
