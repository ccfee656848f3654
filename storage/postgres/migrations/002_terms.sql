-- The words of a message as the keyword arm counts them: stemmed, without stop words, with the day it was said.
-- NULL is still to be done; the background pass does it.
ALTER TABLE messages ADD COLUMN terms text[];
CREATE INDEX messages_without_terms ON messages (user_id) WHERE terms IS NULL;
