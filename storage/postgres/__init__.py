"""Postgres: the pool, the migrations, the checkpointer."""
