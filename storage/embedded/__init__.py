"""The Postgres server that everthread brings along."""
