"""Statements by name: each that the code asks for is there, both databases have the same set, and understand each."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

import everthread
from everthread.settings.settings import Settings
from everthread.storage.postgres import queries as postgres
from everthread.storage.postgres.database import Database
from everthread.storage.queries import for_psycopg, read_queries
from everthread.storage.sqlite import queries as sqlite
from everthread.storage.sqlite.database import SqliteDatabase

ROOT = Path(everthread.__file__).parent
ROOMS = ("doors", "facts", "maintenance", "memory", "runtime", "storage")
OTHER_NAMES = {"queries.py", "open.py", "begun.py", "telemetry.py"}
"""Files with names of statements, of files and of metrics, which look alike."""

CODE = [file for room in ROOMS for file in (ROOT / room).rglob("*.py") if file.name not in OTHER_NAMES]
SUBJECTS = {name.partition(".")[0] for name in postgres.QUERIES}


def test_both_databases_have_the_same_statements() -> None:
    assert set(sqlite.QUERIES) == set(postgres.QUERIES)
    assert set(read_queries("sqlite")).isdisjoint(sqlite.PROCEDURES)


def test_each_statement_is_asked_for_and_each_that_is_asked_for_is_there() -> None:
    texts = "\n".join(file.read_text(encoding="utf-8") for file in CODE)
    named = {name for name in re.findall(r'"([a-z_]+\.[a-z_]+)"', texts) if not name.endswith(".db")}  # a file's
    asked = {name for name in named if name.partition(".")[0] in SUBJECTS}
    assert asked == set(postgres.QUERIES)


def test_a_statement_is_written_for_sqlite_only_where_it_differs() -> None:
    common = read_queries("postgres")
    assert [name for name, text in read_queries("sqlite").items() if text == common[name]] == []


async def test_sqlite_understands_each_statement(tmp_path: Path) -> None:
    database = SqliteDatabase(Settings(), tmp_path / "memory.db")

    def misunderstood(connection: sqlite3.Connection) -> list[str]:
        wrong = []
        for name, statement in sqlite.QUERIES.items():
            if isinstance(statement, str):
                try:
                    connection.execute(f"EXPLAIN {statement}", AnyParameter())
                except sqlite3.Error as error:
                    wrong.append(f"{name}: {error}: {statement}")
        return wrong

    assert await database.on_thread(misunderstood) == []
    await database.close()


class AnyParameter(dict[str, None]):
    def __missing__(self, key: str) -> None:
        return None


async def test_postgres_understands_each_statement(settings: Settings) -> None:
    database = Database(settings)
    wrong = []
    for name, statement in postgres.QUERIES.items():
        assert isinstance(statement, str)
        if statement.startswith("SET "):
            continue
        numbers: dict[str, int] = defaultdict(lambda: len(numbers) + 1)  # noqa: B023
        text = re.sub(r"%\((\w+)\)s", lambda found: f"${numbers[found[1]]}", statement).replace("%%", "%")  # noqa: B023
        try:
            await database.run(partial(prepare, text))
            await database.run(lambda connection: connection.execute("DEALLOCATE x"))
        except everthread.StorageError as error:
            wrong.append(f"{name}: {error}")
    await database.close()
    assert wrong == []


async def prepare(text: str, connection: Any) -> None:
    await connection.execute(sql.SQL("PREPARE x AS ") + sql.SQL(text))


@pytest.mark.parametrize(
    ("statement", "for_driver"),
    [
        ("SELECT :a", "SELECT %(a)s"),
        ("SELECT :a::int, b::text", "SELECT %(a)s::int, b::text"),
        ("SELECT '5::30 :a it''s :b', :c", "SELECT '5::30 :a it''s :b', %(c)s"),
        ("SELECT 1 -- of :a\nWHERE x = :b", "SELECT 1 -- of :a\nWHERE x = %(b)s"),
        ("SELECT 7 % 2", "SELECT 7 %% 2"),
        ("SELECT '100%'", "SELECT '100%%'"),
    ],
)
def test_parameters_are_found_and_literals_stay(statement: str, for_driver: str) -> None:
    assert for_psycopg(statement) == for_driver
