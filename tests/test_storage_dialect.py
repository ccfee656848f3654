"""Every statement of ours is understood by SQLite, as it is or translated."""

from __future__ import annotations

import importlib
import pkgutil
import sqlite3
from pathlib import Path

import pytest

import everthread
from everthread.settings.settings import Settings
from everthread.storage.sqlite.database import SqliteDatabase
from everthread.storage.sqlite.dialect import translated
from everthread.storage.sqlite.statements import TWINS

ROOMS = ("facts", "maintenance", "memory", "runtime", "storage")
"""Rooms with statements of ours."""

ROOT = Path(everthread.__file__).parent
STARTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "(SELECT")


def statements() -> list[tuple[str, str]]:
    found = []
    for info in pkgutil.iter_modules([str(ROOT / room) for room in ROOMS]):
        room = Path(info.module_finder.path).name  # type: ignore[union-attr]  # a finder of files
        module = importlib.import_module(f"everthread.{room}.{info.name}")
        for name, value in vars(module).items():
            parts = [part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, str)]
            asked = [part for part in parts if part.lstrip().startswith(STARTS) and "%" in part]
            found += [(f"{info.name}.{name}", part) for part in asked]
    return found


# Parts of statements that are put together, and what is only needed where a database was restored from another server.
PARTS = {
    "archive_sql.CHANGED", "archive_sql.NEW", "bulk_embedding._COUNT", "bulk_embedding._MESSAGES",
    "bulk_embedding._SUMMARIES", "memory_changes._RENEW_MESSAGES", "memory_changes._RENEW_VECTORS",
    "rows.PUT_FACTS", "rows.PUT_PINS", "transfer_facts.PUT_FACTS", "transfer_facts.PUT_PINS",
}  # fmt: skip


async def test_every_statement_is_understood(tmp_path: Path) -> None:
    database = SqliteDatabase(Settings(), tmp_path / "memory.db")

    def misunderstood(connection: sqlite3.Connection) -> list[str]:
        wrong = []
        for name, statement in statements():
            twin = TWINS.get(statement) or translated(statement)
            if name in PARTS or callable(twin):
                continue
            asked = sqlite3.connect(":memory:")
            try:
                text = f"EXPLAIN {twin}"
                params = [None] * twin.count("?") if "?" in twin else AnyParameter()
                connection.execute(text, params)
            except sqlite3.Error as error:
                wrong.append(f"{name}: {error}: {twin}")
            finally:
                asked.close()
        return wrong

    assert await database.on_thread(misunderstood) == []
    await database.close()
    assert len(statements()) > 30


class AnyParameter(dict[str, None]):
    def __missing__(self, key: str) -> None:
        return None


@pytest.mark.parametrize(
    ("postgres", "sqlite"),
    [
        ("SELECT %(a)s", "SELECT :a"),
        ("x = ANY(%(ids)s)", "x IN (SELECT value FROM json_each(:ids))"),
        ("x <> ALL(%(ids)s)", "x NOT IN (SELECT value FROM json_each(:ids))"),
        ("%(a)s::text[] IS NULL OR x = ANY(%(a)s::text[])", ":a IS NULL OR x IN (SELECT value FROM json_each(:a))"),
        ("SELECT pg_advisory_xact_lock(1)", "SELECT 1"),
        ("a IS DISTINCT FROM b", "a IS NOT b"),
    ],
)
def test_what_sqlite_says_by_another_word(postgres: str, sqlite: str) -> None:
    assert translated(postgres) == sqlite
