-- Who may do what in the memories that several users share: read, write or forget, each with those before it. The rows of
-- a space have its id as their `user_id`.
CREATE TABLE space_members (
    user_id  text NOT NULL,
    space_id text NOT NULL,
    may      text NOT NULL,
    PRIMARY KEY (user_id, space_id)
);
CREATE INDEX space_members_space ON space_members (space_id);
-- Whether who acts in a space has a right there; true where rows are a user's own. The policies ask it.
CREATE FUNCTION member_may(wanted text) RETURNS boolean LANGUAGE sql STABLE AS $$
SELECT coalesce(current_setting('everthread.member', true), '') = '' OR EXISTS (
    SELECT FROM space_members
    WHERE user_id = current_setting('everthread.member', true)
      AND space_id = current_setting('everthread.user_id', true) 
      AND array_position(ARRAY['read', 'write', 'forget'], wanted)
          <= array_position(ARRAY['read', 'write', 'forget'], may))
$$;
