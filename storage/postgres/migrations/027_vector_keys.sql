-- Every key of a user's rows begins with the user, so that they can lie in partitions: see `partitions.py`.
ALTER TABLE vectors DROP CONSTRAINT vectors_pkey, ADD PRIMARY KEY (user_id, langchain_id);
