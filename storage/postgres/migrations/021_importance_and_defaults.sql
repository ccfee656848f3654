-- How important a message is, in [0, 1]: by its words when it is said, later by what becomes of it.
ALTER TABLE messages ADD COLUMN importance double precision NOT NULL DEFAULT 0.5;

-- What a user has chosen by commands in the chat: it holds for their new threads.
CREATE TABLE user_defaults (
    user_id        text PRIMARY KEY,
    enabled        boolean NOT NULL,
    threshold_name text,
    threshold      int
);
