-- What is known about a user. Nothing is deleted: a fact is superseded or forgotten, and keeps its interval.
-- `meaning` and `slot` are hashes of what it says, and of what it says it about: the first finds what says the same,
-- the second what may contradict it. `terms` are the words that carry the meaning;
-- `term_keys` holds a number for each, made of user and word, as in `messages`. `weight` is how much a fact matters to a
-- turn whose question does not name it.
CREATE TABLE facts (
    user_id       text NOT NULL,
    id            text NOT NULL,
    thread_id     text NOT NULL,
    kind          text NOT NULL,
    text          text NOT NULL,
    subject       text NOT NULL,
    attribute     text,
    value         text,
    negated       boolean NOT NULL,
    settles       boolean NOT NULL,
    terms         text[] NOT NULL,
    state         text NOT NULL,
    source_id     text NOT NULL,
    said_at       timestamptz NOT NULL,
    confirmed_at  timestamptz NOT NULL,
    valid_from    timestamptz NOT NULL,
    valid_to      timestamptz,
    superseded_by text,
    confidence    double precision NOT NULL,
    origin        text NOT NULL,
    meaning       uuid NOT NULL,
    slot          uuid,
    weight        double precision NOT NULL,
    term_keys     bigint[] NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX facts_meaning ON facts (user_id, meaning);
CREATE INDEX facts_slot ON facts (user_id, slot) WHERE slot IS NOT NULL;
CREATE INDEX facts_open ON facts (user_id, weight, said_at) WHERE state IN ('current', 'conflicting');
CREATE INDEX facts_terms ON facts USING gin (term_keys) WITH (fastupdate = off);

-- What is to be kept in sight: because the user asked for it (manual), or by its importance (automatic).
CREATE TABLE pins (
    user_id      text NOT NULL,
    id           text NOT NULL,
    thread_id    text NOT NULL,
    text         text NOT NULL,
    kind         text NOT NULL,
    score        double precision NOT NULL,
    source_id    text NOT NULL,
    created_at   timestamptz NOT NULL,
    forgotten_at timestamptz,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX pins_kept ON pins (user_id, score) WHERE forgotten_at IS NULL;

-- Whether facts were looked for in a message: done once, after its turn.
ALTER TABLE messages ADD COLUMN facts_read boolean NOT NULL DEFAULT false;
CREATE INDEX messages_facts_unread ON messages (user_id, created_at) WHERE role = 'user' AND NOT facts_read;
