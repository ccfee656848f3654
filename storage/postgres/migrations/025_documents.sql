-- What an agent keeps beside conversations: LangGraph's store. `content` is the document as JSON; `fields` (JSON) are the
-- paths in it that are searched by meaning, `vectors` those of their texts, single precision in base64, by `model`.
CREATE TABLE documents (
    user_id    text NOT NULL,
    namespace  text NOT NULL,
    key        text NOT NULL,
    content    text NOT NULL,
    fields     text NOT NULL,
    model      text,
    vectors    text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, namespace, key)
);
ALTER TABLE deletions ADD COLUMN documents integer NOT NULL DEFAULT 0;
