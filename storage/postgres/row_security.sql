-- Every table with a column user_id: a transaction meets the rows of the user that it names, and writes no others. The
-- subquery is asked once a statement, not once a row.
DO $$
DECLARE name text;
BEGIN
    FOR name IN
        SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND NOT a.attisdropped
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND a.attname = 'user_id'
          AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('DROP POLICY IF EXISTS own_rows ON %I', name);
        IF name = 'space_members' THEN
            -- Asked by the policies of the others: a member's own rights.
            CREATE POLICY own_rows ON space_members
            USING (user_id IN ((SELECT current_setting('everthread.user_id', true)),
                               (SELECT current_setting('everthread.member', true))));
            DROP POLICY IF EXISTS across_users ON space_members;
            CREATE POLICY across_users ON space_members FOR SELECT
            USING ((SELECT current_setting('everthread.across_users', true)) = 'on');
        ELSE
            EXECUTE format('CREATE POLICY own_rows ON %I
                            USING (user_id = (SELECT current_setting(''everthread.user_id'', true))
                                   AND (SELECT member_may(''read'')))
                            WITH CHECK (user_id = (SELECT current_setting(''everthread.user_id'', true))
                                        AND (SELECT member_may(''write'')))', name);
            EXECUTE format('DROP POLICY IF EXISTS no_reader ON %I', name);
            EXECUTE format('CREATE POLICY no_reader ON %I AS RESTRICTIVE FOR DELETE
                            USING ((SELECT member_may(''write'')))', name);
        END IF;
        IF name = 'threads' THEN
            -- Whose a thread is must be known before it is known who asks.
            DROP POLICY IF EXISTS across_users ON threads;
            CREATE POLICY across_users ON threads FOR SELECT
            USING ((SELECT current_setting('everthread.across_users', true)) = 'on');
        END IF;
        IF name = 'search_cache' THEN
            -- What is too old goes, whosever it is.
            DROP POLICY IF EXISTS across_users ON search_cache;
            CREATE POLICY across_users ON search_cache
            USING ((SELECT current_setting('everthread.across_users', true)) = 'on');
        END IF;
    END LOOP;
    -- LangGraph's tables name threads and no users. The checkpointer is bound by the thread of a run; what is done in a
    -- user's name meets the checkpoints of that user's threads.
    FOR name IN
        SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND NOT relrowsecurity
        AND relname IN ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes')
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('DROP POLICY IF EXISTS own_threads ON %I', name);
        EXECUTE format('CREATE POLICY own_threads ON %1$I USING (current_user <> ''everthread_rows'' OR EXISTS (
                        SELECT FROM threads WHERE threads.thread_id = %1$I.thread_id))', name);
    END LOOP;
    IF current_setting('server_version_num')::int >= 150000 THEN
        FOR name IN
            SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v'
            AND NOT 'security_invoker=true' = ANY(coalesce(reloptions, '{}'))
        LOOP
            EXECUTE format('ALTER VIEW %I SET (security_invoker = true)', name);
        END LOOP;
    END IF;
END $$
