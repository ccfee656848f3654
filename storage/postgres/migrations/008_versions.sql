-- A summary that was made again keeps its id. Its row has the newest text, and `summary_versions` the earlier ones, from
-- version 1. `tries` is how often a model was asked in vain to make a rejected one again.
ALTER TABLE summaries ADD COLUMN version integer NOT NULL DEFAULT 1;
ALTER TABLE summaries ADD COLUMN tries integer NOT NULL DEFAULT 0;
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
    replaced_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, thread_id, id, version)
);
