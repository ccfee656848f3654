"""`QUERIES`: the statements of Postgres by name."""

from __future__ import annotations

from typing import Final

from ..queries import Query, for_psycopg, read_queries

QUERIES: Final[dict[str, Query]] = {name: for_psycopg(text) for name, text in read_queries("postgres").items()}
