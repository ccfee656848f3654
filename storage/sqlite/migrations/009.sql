-- As 017_user_keys.sql: one data key a user, wrapped by the master key.
CREATE TABLE user_keys (
    owner       text PRIMARY KEY NOT NULL,
    key_id      text NOT NULL UNIQUE,
    master_id   text NOT NULL,
    wrapped     text NOT NULL,
    is_complete integer NOT NULL
);
