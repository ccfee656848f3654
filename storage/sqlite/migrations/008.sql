-- As 016_deletions.sql: what was forgotten.
CREATE TABLE deletions (
    user_id    text NOT NULL,
    deleted_at text NOT NULL,
    kind       text NOT NULL,
    asked_by   text NOT NULL,
    threads    integer NOT NULL,
    messages   integer NOT NULL,
    summaries  integer NOT NULL,
    rewritten  integer NOT NULL,
    facts      integer NOT NULL,
    pins       integer NOT NULL,
    reports    integer NOT NULL
);
CREATE INDEX deletions_newest ON deletions (user_id, deleted_at);

-- The numbers of messages that were forgotten: where they are missing in a thread, nothing was lost.
CREATE TABLE forgotten_numbers (
    user_id   text NOT NULL,
    thread_id text NOT NULL,
    seq       integer NOT NULL,
    PRIMARY KEY (user_id, thread_id, seq)
);
