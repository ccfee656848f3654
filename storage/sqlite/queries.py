"""`QUERIES`: the statements of SQLite by name: those of Postgres, but for what SQLite says in another way."""

from __future__ import annotations

from typing import Final

from ..queries import Query, read_queries
from .procedures import add_messages, adopt, fact_sheet, find_changed, import_messages

PROCEDURES: Final[dict[str, Query]] = {
    "archive.add_messages": add_messages,
    "archive.find_changed": find_changed,
    "facts.sheet": fact_sheet,
    "transfer.add_messages": import_messages,
    "vector_store.adopt": adopt,
}

QUERIES: Final[dict[str, Query]] = {**read_queries("postgres"), **read_queries("sqlite"), **PROCEDURES}
