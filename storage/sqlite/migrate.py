"""Versioned migrations of our tables in SQLite, and of LangGraph's checkpoint tables with them."""

from __future__ import annotations

import re
import sqlite3
from importlib.resources import files
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver

from ...state.errors import StorageError
from .pages import begin_incremental


def bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the tables of a connection in autocommit up to date, in WAL mode (blocking).

    Raises:
        StorageError: the file at `path` is of a newer everthread.
    """
    begin_incremental(connection)
    connection.execute("PRAGMA journal_mode = WAL")
    steps = _steps()
    if _version(connection) != max(steps):
        connection.execute("BEGIN IMMEDIATE")  # another process may have done it meanwhile
        found = _version(connection)
        if found > max(steps):
            raise StorageError(f"{path} is at version {found}, which this everthread does not know: upgrade it.")
        for version in sorted(steps):
            if version > found:
                for statement in _statements(steps[version]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    SqliteSaver(connection).setup()


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _steps() -> dict[int, str]:
    """The scripts of `migrations/`, by number."""
    found = {}
    for file in (files(__package__) / "migrations").iterdir():
        if match := re.fullmatch(r"(\d+)\.sql", file.name):
            found[int(match[1])] = file.read_text(encoding="utf-8")
    return found


def _statements(script: str) -> list[str]:
    """The statements of a script one by one: `executescript` would end the transaction."""
    found, begun = [], ""
    for line in script.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            found.append(begun)
            begun = ""
    return found
