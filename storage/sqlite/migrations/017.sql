-- Who may do what in the memories that several users share: read, write or forget, each with those before it. The rows of
-- a space have its id as their `user_id`.
CREATE TABLE space_members (
    user_id  text NOT NULL,
    space_id text NOT NULL,
    may      text NOT NULL,
    PRIMARY KEY (user_id, space_id)
);
CREATE INDEX space_members_space ON space_members (space_id);
