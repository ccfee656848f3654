-- The newest messages are embedded first: in the order of an index, their number does not matter.
CREATE INDEX messages_embed_next ON messages (user_id, created_at) WHERE embedded_with IS NULL;
