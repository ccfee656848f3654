-- Moves the table `everthread.moved` into `everthread.number` hash partitions by the column `everthread.key`, or into one
-- piece where the number is 1. All that hangs on it comes along: keys, indexes, triggers, views, owner, grants; its
-- policies are made anew behind this.
DO $$
DECLARE
    moved   text := current_setting('everthread.moved');
    key     text := current_setting('everthread.key');
    number  int  := current_setting('everthread.number')::int;
    before  text := moved || '_before';
    own     name := (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = moved::regclass);
    views   regclass[];
    columns text;
    again   text[];
    one     text;
BEGIN
    SELECT coalesce(array_agg(DISTINCT r.ev_class::regclass), '{}') INTO views
    FROM pg_depend AS d JOIN pg_rewrite AS r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass
    WHERE d.refobjid = moved::regclass AND r.ev_class <> moved::regclass;
    FOREACH one IN ARRAY views::text[] LOOP
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', one);  -- as those do who read it: the view first
    END LOOP;
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', moved);

    SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
    WHERE attrelid = moved::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
    SELECT coalesce(array_agg(statement ORDER BY place), '{}') INTO again FROM (
        SELECT 1 AS place, format('ALTER TABLE %I ADD CONSTRAINT %I %s', moved, conname, pg_get_constraintdef(oid)) AS statement
        FROM pg_constraint WHERE conrelid = moved::regclass AND contype IN ('p', 'u')
        UNION ALL
        -- What was unique without the key cannot be unique over partitions.
        SELECT 2, replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') FROM pg_index AS i
        WHERE i.indrelid = moved::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
          AND NOT (i.indisunique AND number > 1)
        UNION ALL
        SELECT 3, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = moved::regclass AND NOT tgisinternal
        UNION ALL
        SELECT 4, format('CREATE VIEW %s AS %s', view, pg_get_viewdef(view)) FROM unnest(views) AS view
        UNION ALL
        SELECT 5, format('ALTER TABLE %s OWNER TO %I', c.oid::regclass, pg_get_userbyid(c.relowner)) FROM pg_class AS c
        WHERE (c.oid = moved::regclass OR c.oid = ANY(views)) AND pg_get_userbyid(c.relowner) <> current_user
        UNION ALL
        SELECT 6, format('GRANT %s ON %s TO %s', a.privilege_type, c.oid::regclass,
                         CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)
        FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS a
        WHERE (c.oid = moved::regclass OR c.oid = ANY(views)) AND a.grantee <> c.relowner
    ) AS all_of_it;

    FOREACH one IN ARRAY views::text[] LOOP
        EXECUTE format('DROP VIEW %s', one);
    END LOOP;
    -- All rows, or an error: the owner's are not filtered, and who is filtered is refused.
    EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', moved);
    PERFORM set_config('row_security', 'off', true);
    EXECUTE format('ALTER TABLE %I RENAME TO %I', moved, before);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING INDEXES)', moved, before)
            || CASE WHEN number > 1 THEN format(' PARTITION BY HASH (%I)', key) ELSE '' END;
    FOR n IN 0 .. CASE WHEN number > 1 THEN number ELSE 0 END - 1 LOOP
        one := format('%s_%s_of_%s', moved, n, number);
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s)', one, moved, number, n);
        IF own <> current_user THEN
            EXECUTE format('ALTER TABLE %I OWNER TO %I', one, own);
        END IF;
    END LOOP;
    EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM %I', moved, columns, columns, before);
    EXECUTE format('DROP TABLE %I', before);
    FOREACH one IN ARRAY again LOOP
        EXECUTE one;
    END LOOP;
END $$
