-- How important a message is, in [0, 1]: by its words when it is said, later by what becomes of it.
ALTER TABLE messages ADD COLUMN importance double precision NOT NULL DEFAULT 0.5;
