-- The tables of the Postgres migrations, for SQLite. Times are ISO 8601 in UTC with microseconds, so that they sort as
-- text; arrays and objects are JSON; `term_keys` of messages and vectors are bytes as Postgres would send them.
CREATE TABLE threads (
    thread_id  text PRIMARY KEY NOT NULL,
    user_id    text NOT NULL,
    name       text,
    created_at text NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now'))
);
CREATE INDEX threads_user ON threads (user_id, created_at);

CREATE TABLE messages (
    user_id       text NOT NULL,
    thread_id     text NOT NULL,
    id            text NOT NULL,
    seq           integer NOT NULL,
    role          text NOT NULL,
    name          text,
    text          text NOT NULL,
    message       text NOT NULL,
    tokens        integer NOT NULL,
    active        integer NOT NULL DEFAULT 1,
    chunk_id      integer,
    embedded_with text,
    created_at    text NOT NULL,
    term_keys     blob,
    facts_read    integer NOT NULL DEFAULT 0,
    changed       integer NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, thread_id, id),
    UNIQUE (user_id, thread_id, seq)
);
CREATE INDEX messages_to_embed ON messages (user_id, thread_id, seq) WHERE embedded_with IS NULL;
CREATE INDEX messages_without_terms ON messages (user_id) WHERE term_keys IS NULL;
CREATE INDEX messages_facts_unread ON messages (user_id, created_at) WHERE role = 'user' AND NOT facts_read;
CREATE INDEX messages_changed ON messages (user_id, changed);

CREATE TABLE summaries (
    user_id       text NOT NULL,
    thread_id     text NOT NULL,
    id            text NOT NULL,
    level         integer NOT NULL,
    content       text NOT NULL,
    source_ids    text NOT NULL,
    method        text NOT NULL,
    model         text,
    tokens        integer NOT NULL,
    active        integer NOT NULL DEFAULT 1,
    embedded_with text,
    created_at    text NOT NULL,
    covers        integer NOT NULL DEFAULT 0,
    rejected      text,
    version       integer NOT NULL DEFAULT 1,
    tries         integer NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, thread_id, id)
);
CREATE INDEX summaries_rejected ON summaries (user_id, thread_id) WHERE rejected IS NOT NULL;

CREATE TABLE summary_versions (
    user_id     text NOT NULL,
    thread_id   text NOT NULL,
    id          text NOT NULL,
    version     integer NOT NULL,
    content     text NOT NULL,
    method      text NOT NULL,
    model       text,
    tokens      integer NOT NULL,
    rejected    text,
    replaced_at text NOT NULL,
    PRIMARY KEY (user_id, thread_id, id, version)
);
CREATE INDEX summaries_to_embed ON summaries (user_id, thread_id) WHERE embedded_with IS NULL;

CREATE TABLE vectors (
    langchain_id       text PRIMARY KEY NOT NULL,
    content            text NOT NULL,
    embedding          blob NOT NULL,
    langchain_metadata text,
    user_id            text NOT NULL,
    thread_id          text NOT NULL,
    source_type        text NOT NULL,
    source_id          text NOT NULL,
    role               text NOT NULL,
    model              text NOT NULL,
    created_at         text NOT NULL,
    changed            integer NOT NULL DEFAULT 0
);
CREATE INDEX vectors_changed ON vectors (user_id, model, changed);
CREATE INDEX vectors_source ON vectors (user_id, thread_id, source_id);

CREATE TABLE search_cache (
    key        blob PRIMARY KEY NOT NULL,
    results    text NOT NULL,
    created_at text NOT NULL
);
CREATE INDEX search_cache_age ON search_cache (created_at);

CREATE TABLE facts (
    user_id       text NOT NULL,
    id            text NOT NULL,
    thread_id     text NOT NULL,
    kind          text NOT NULL,
    text          text NOT NULL,
    subject       text NOT NULL,
    attribute     text,
    value         text,
    negated       integer NOT NULL,
    settles       integer NOT NULL,
    terms         text NOT NULL,
    state         text NOT NULL,
    source_id     text NOT NULL,
    said_at       text NOT NULL,
    confirmed_at  text NOT NULL,
    valid_from    text NOT NULL,
    valid_to      text,
    superseded_by text,
    confidence    real NOT NULL,
    origin        text NOT NULL,
    meaning       text NOT NULL,
    slot          text,
    weight        real NOT NULL,
    term_keys     text NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX facts_meaning ON facts (user_id, meaning);
CREATE INDEX facts_slot ON facts (user_id, slot) WHERE slot IS NOT NULL;
CREATE INDEX facts_open ON facts (user_id, weight, said_at) WHERE state IN ('current', 'conflicting');

CREATE TABLE pins (
    user_id      text NOT NULL,
    id           text NOT NULL,
    thread_id    text NOT NULL,
    text         text NOT NULL,
    kind         text NOT NULL,
    score        real NOT NULL,
    source_id    text NOT NULL,
    created_at   text NOT NULL,
    forgotten_at text,
    PRIMARY KEY (user_id, id)
);

CREATE TABLE turn_reports (
    user_id    text NOT NULL,
    thread_id  text NOT NULL,
    turn       integer NOT NULL,
    started_at text NOT NULL,
    report     text NOT NULL,
    PRIMARY KEY (user_id, thread_id, turn)
);

-- What recall reads of a row gets the next number when it changes: writers come one after the other, so that a number
-- that was read is never given again, and a process reads only what changed since.
CREATE TABLE change_counter (last integer NOT NULL);
INSERT INTO change_counter VALUES (0);
CREATE TRIGGER messages_added AFTER INSERT ON messages BEGIN
    UPDATE change_counter SET last = last + 1;
    UPDATE messages SET changed = (SELECT last FROM change_counter) WHERE rowid = NEW.rowid;
END;
CREATE TRIGGER messages_changed AFTER UPDATE OF seq, role, name, text, term_keys, created_at ON messages BEGIN
    UPDATE change_counter SET last = last + 1;
    UPDATE messages SET changed = (SELECT last FROM change_counter) WHERE rowid = NEW.rowid;
END;
CREATE TRIGGER vectors_added AFTER INSERT ON vectors BEGIN
    UPDATE change_counter SET last = last + 1;
    UPDATE vectors SET changed = (SELECT last FROM change_counter) WHERE rowid = NEW.rowid;
END;
CREATE TRIGGER vectors_changed AFTER UPDATE OF content, embedding, role, model, created_at ON vectors BEGIN
    UPDATE change_counter SET last = last + 1;
    UPDATE vectors SET changed = (SELECT last FROM change_counter) WHERE rowid = NEW.rowid;
END;

-- How often rows of a user were deleted: then what a process holds of them is read anew.
CREATE TABLE memory_removals (
    user_id text PRIMARY KEY NOT NULL,
    times   integer NOT NULL
);
CREATE TRIGGER messages_removed AFTER DELETE ON messages BEGIN
    INSERT INTO memory_removals VALUES (OLD.user_id, 1)
    ON CONFLICT (user_id) DO UPDATE SET times = memory_removals.times + 1;
END;
CREATE TRIGGER vectors_removed AFTER DELETE ON vectors BEGIN
    INSERT INTO memory_removals VALUES (OLD.user_id, 1)
    ON CONFLICT (user_id) DO UPDATE SET times = memory_removals.times + 1;
END;
