-- Every key of a user's rows begins with the user, so that they can lie in partitions: see `partitions.py`. The index
-- serves programs of the version before, while both run.
ALTER TABLE vectors DROP CONSTRAINT vectors_pkey, ADD PRIMARY KEY (user_id, langchain_id);
CREATE UNIQUE INDEX vectors_before_partitions ON vectors (langchain_id);
