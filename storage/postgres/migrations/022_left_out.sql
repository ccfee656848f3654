-- What may be sent again and is no part of the conversation: what was forgotten, and what a stranger sent to a thread of
-- this user in a graph around ours, whose state keeps it. Hashes; `times` it was.
CREATE TABLE left_out (
    user_id   text NOT NULL,
    thread_id text NOT NULL,
    key       uuid NOT NULL,
    times     integer NOT NULL,
    PRIMARY KEY (user_id, thread_id, key)
);
