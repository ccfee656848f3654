"""Where things are kept: the database, the archive of messages and summaries, their vectors, the checkpoints."""
