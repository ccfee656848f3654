-- How important a message is, in [0, 1]: by its words when it is said, later by what becomes of it.
ALTER TABLE messages ADD COLUMN importance REAL NOT NULL DEFAULT 0.5;

-- What a user has chosen by commands in the chat: it holds for their new threads.
CREATE TABLE user_defaults (
    user_id        TEXT PRIMARY KEY,
    enabled        INTEGER NOT NULL,
    threshold_name TEXT,
    threshold      INTEGER
);
