"""Keeping what was said: the protocol, Postgres, SQLite and JSON, checkpointers, locks."""
