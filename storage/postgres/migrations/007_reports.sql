-- What happened in each turn of a thread: one row a turn, for `everthread explain`. `report` is a TurnReport.
CREATE TABLE turn_reports (
    user_id    text NOT NULL,
    thread_id  text NOT NULL,
    turn       integer NOT NULL,
    started_at timestamptz NOT NULL,
    report     jsonb NOT NULL,
    PRIMARY KEY (user_id, thread_id, turn)
);
