"""Versioned migrations of our tables in SQLite, and of LangGraph's checkpoint tables with them."""

from __future__ import annotations

import re
import sqlite3
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Final

from ...state.errors import StorageError
from .errors import is_busy
from .pages import begin_incremental

_IS_TABLE: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
_TABLE: Final = "CREATE TABLE IF NOT EXISTS everthread_migrations (version INTEGER PRIMARY KEY)"
_RETRY_SECONDS: Final = 0.02
_NOTE: Final = "INSERT OR IGNORE INTO everthread_migrations VALUES (?)"


def bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the tables of a connection in autocommit up to date, in WAL mode (blocking).

    Raises:
        StorageError: the file at `path` is of a newer everthread.
    """
    begin_incremental(connection)
    _begin_wal(connection)
    steps = _steps()
    if _applied(connection) != steps.keys():
        connection.execute("BEGIN IMMEDIATE")  # another process may have done it meanwhile
        applied = _applied(connection)
        if newer := applied - steps.keys():
            raise StorageError(f"{path} is at version {max(newer)}, which this everthread does not know: upgrade it.")
        for version in sorted(steps.keys() - applied):
            for statement in _statements(steps[version]):
                connection.execute(statement)
        connection.execute(_TABLE)
        connection.executemany(_NOTE, [(version,) for version in steps])
        connection.execute(f"PRAGMA user_version = {max(steps)}")
        connection.execute("COMMIT")
    _make_checkpoint_tables(connection)


def _begin_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode. Where two open a new file at once SQLite refuses one of them without waiting: it retries."""
    milliseconds = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    until = time.monotonic() + milliseconds / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _make_checkpoint_tables(connection: sqlite3.Connection) -> None:
    """LangGraph's tables, by LangGraph where a graph has loaded it; others ask these tables, too, what is there."""
    if (langgraph := sys.modules.get("langgraph.checkpoint.sqlite")) is not None:
        langgraph.SqliteSaver(connection).setup()
        return
    for statement in _statements((files(__package__) / "checkpoints.sql").read_text(encoding="utf-8")):
        connection.execute(statement)


def _applied(connection: sqlite3.Connection) -> set[int]:
    """Which steps were done. Each is noted, for one may arrive later than the next; before that only the last was."""
    last = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if not connection.execute(_IS_TABLE, ("everthread_migrations",)).fetchone():
        # Step 9 arrived after step 10: files of that time have not done it.
        has_keys = connection.execute(_IS_TABLE, ("user_keys",)).fetchone() is not None
        return {step for step in range(1, last + 1) if step != 9 or has_keys}
    return {last, *(version for (version,) in connection.execute("SELECT version FROM everthread_migrations"))}


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
