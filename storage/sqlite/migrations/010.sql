-- As 018_retention.sql: how long what is said in a thread is kept, and what was deleted.
ALTER TABLE threads ADD COLUMN retention text;
CREATE TABLE retention_runs (
    started_at text PRIMARY KEY NOT NULL,
    report     text NOT NULL
);
CREATE INDEX messages_age ON messages (user_id, thread_id, created_at);
CREATE INDEX turn_reports_age ON turn_reports (user_id, thread_id, started_at);
