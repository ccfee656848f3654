"""Schemas that are migrated once and emptied between tests: each test has one under a name of its own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from everthread.settings.settings import Settings
from everthread.storage.postgres.database import Database

TABLES = "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r'"
SHAPE = """
SELECT md5(string_agg(part, ' ' ORDER BY part)) FROM (
  SELECT concat_ws(' ', c.relkind, c.relname, a.attname, a.atttypid, a.attnotnull) AS part
    FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = %(schema)s::regnamespace
  UNION ALL SELECT concat_ws(' ', t.tgname, t.tgenabled) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = %(schema)s::regnamespace
  UNION ALL SELECT concat_ws(' ', n.conname, n.contype) FROM pg_constraint n
    WHERE n.connamespace = %(schema)s::regnamespace
  UNION ALL SELECT p.proname::text FROM pg_proc p WHERE p.pronamespace = %(schema)s::regnamespace
) AS parts
"""
"""What tables, columns, indexes, triggers, constraints and functions a schema has."""


class Schemas:
    """The schemas of one server.

    Args:
        url: the server, which nobody else uses: it gives up safety against crashes for speed.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[str] = []
        self._connection = self._connected()
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            self._connection.execute(f"ALTER SYSTEM SET {setting} = off")  # type: ignore[arg-type]
        self._connection.execute("SELECT pg_reload_conf()")
        self._shape = ""
        self._versions: list[tuple[str, int]] = []

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """The name of a schema that is not there yet."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        yield name
        self._check()
        self._drop(name)

    @contextmanager
    def migrated(self) -> Iterator[str]:
        """The name of a schema that has all tables, and no rows."""
        self._check()
        if not self._idle:
            self._make()
        name = f"test_{uuid.uuid4().hex[:12]}"
        self._connection.execute(f'ALTER SCHEMA "{self._idle.pop()}" RENAME TO "{name}"')  # type: ignore[arg-type]
        yield name
        self._check()
        if self._emptied(name):
            self._idle.append(name)
        else:
            self._drop(name)

    def close(self) -> None:
        """Let go of the server."""
        self._connection.close()

    def _connected(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self._url, autocommit=True)

    def _check(self) -> None:
        """Connect again if the test has ended all connections of the server."""
        try:
            self._connection.execute("SELECT 1")
        except psycopg.OperationalError:
            self._connection = self._connected()

    def _make(self) -> None:
        name = f"idle_{uuid.uuid4().hex[:12]}"
        database = Database(Settings(database_url=self._url, database_schema=name))

        async def migrate() -> None:
            await database.open()
            await database.close()

        asyncio.run(migrate())
        self._shape, self._versions = self._shape_of(name), self._versions_of(name)
        self._idle.append(name)

    def _emptied(self, name: str) -> bool:
        """Delete all rows; False where the test has changed the schema itself, or still holds on to it."""
        try:
            if self._shape_of(name) != self._shape or self._versions_of(name) != self._versions:
                return False
            tables = [str(row[0]) for row in self._connection.execute(TABLES, (f'"{name}"',))]
            emptied = [f"DELETE FROM {table};" for table in tables if not table.endswith("migrations")]
            # Without triggers: they would note what was deleted.
            script = f"SET LOCAL lock_timeout = '2s'; SET LOCAL session_replication_role = replica; {''.join(emptied)}"
            with self._connection.transaction():
                self._connection.execute(script.encode(), prepare=False)
        except psycopg.Error:
            return False
        return True

    def _shape_of(self, name: str) -> str:
        row = self._connection.execute(SHAPE, {"schema": f'"{name}"'}).fetchone()
        return str(row and row[0])

    def _versions_of(self, name: str) -> list[tuple[str, int]]:
        found = []
        for table in ("everthread_migrations", "checkpoint_migrations"):
            query = f'SELECT count(*) FROM "{name}".{table}'
            row = self._connection.execute(query).fetchone()  # type: ignore[arg-type]
            found.append((table, int(str(row[0])) if row else 0))
        return found

    def _drop(self, name: str) -> None:
        self._connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')  # type: ignore[arg-type]
