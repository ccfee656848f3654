-- Who owns a thread. A thread belongs to the user who first spoke in it.
CREATE TABLE threads (
    thread_id  text PRIMARY KEY,
    user_id    text NOT NULL,
    name       text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX threads_user ON threads (user_id, created_at);

-- Every message, kept for ever. `message` is the whole LangChain message; `text` is what can be read and searched.
-- `active` is whether it still stands in the live chain on its own; `chunk_id` is the batch it was summarized in.
-- `embedded_with` names the embedding model of its vectors; NULL is still to be embedded.
CREATE TABLE messages (
    user_id       text NOT NULL,
    thread_id     text NOT NULL,
    id            text NOT NULL,
    seq           bigint NOT NULL,
    role          text NOT NULL,
    name          text,
    text          text NOT NULL,
    message       jsonb NOT NULL,
    tokens        integer NOT NULL,
    active        boolean NOT NULL DEFAULT true,
    chunk_id      integer,
    embedded_with text,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (user_id, thread_id, id),
    UNIQUE (user_id, thread_id, seq)
);
CREATE INDEX messages_to_embed ON messages (user_id, thread_id, seq) WHERE embedded_with IS NULL;

-- Every summary, kept for ever, with what it was made from. Level 0 is the master summary.
CREATE TABLE summaries (
    user_id       text NOT NULL,
    thread_id     text NOT NULL,
    id            text NOT NULL,
    level         integer NOT NULL,
    content       text NOT NULL,
    source_ids    text[] NOT NULL,
    method        text NOT NULL,
    model         text,
    tokens        integer NOT NULL,
    active        boolean NOT NULL DEFAULT true,
    embedded_with text,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (user_id, thread_id, id)
);
CREATE INDEX summaries_to_embed ON summaries (user_id, thread_id) WHERE embedded_with IS NULL;

-- One vector a chunk of a message or summary. The first four columns are those of a langchain-postgres vector store,
-- so that other LangChain code can read this table.
CREATE TABLE vectors (
    langchain_id       uuid PRIMARY KEY,
    content            text NOT NULL,
    embedding          vector NOT NULL,
    langchain_metadata json,
    user_id            text NOT NULL,
    thread_id          text NOT NULL,
    source_type        text NOT NULL,
    source_id          text NOT NULL,
    role               text NOT NULL,
    model              text NOT NULL,
    created_at         timestamptz NOT NULL
);
CREATE INDEX vectors_user ON vectors (user_id, model, thread_id);
