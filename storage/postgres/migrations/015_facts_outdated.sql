-- What an earlier version found out about users has the terms and attributes of that version: it is read again, by the
-- background pass, and so is what an export of it brings.
ALTER TABLE facts ADD COLUMN outdated boolean NOT NULL DEFAULT true;
