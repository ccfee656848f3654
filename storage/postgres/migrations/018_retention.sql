-- How long what is said in a thread is kept, where that is not the operator's to say for all: as `retention`.
ALTER TABLE threads ADD COLUMN retention text;
-- What was deleted because of its age or number: how much of each kind. One row a run.
CREATE TABLE retention_runs (
    started_at timestamptz PRIMARY KEY,
    report     jsonb NOT NULL
);
CREATE INDEX messages_age ON messages (user_id, thread_id, created_at);
CREATE INDEX turn_reports_age ON turn_reports (user_id, thread_id, started_at);
