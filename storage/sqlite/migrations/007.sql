-- As 015_facts_outdated.sql: what was found out earlier is read again.
ALTER TABLE facts ADD COLUMN outdated integer NOT NULL DEFAULT 1;
