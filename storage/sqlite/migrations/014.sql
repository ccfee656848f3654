-- What a stranger sent to a thread of this user in a graph around ours, whose state keeps it although it was refused.
CREATE TABLE refused_messages (
    user_id   text NOT NULL,
    thread_id text NOT NULL,
    key       text NOT NULL,
    PRIMARY KEY (user_id, thread_id, key)
) WITHOUT ROWID;
