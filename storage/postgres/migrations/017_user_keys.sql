-- One data key a user, wrapped by the master key of the operator; without encryption there is no row. That of the owner ''
-- belongs to the database: what it seals is nobody's, and that it can be unwrapped tells the right master key.
CREATE TABLE user_keys (
    owner       text PRIMARY KEY,
    key_id      text NOT NULL UNIQUE,
    master_id   text NOT NULL,
    wrapped     text NOT NULL,
    is_complete boolean NOT NULL
);
