"""Versioned migrations of our tables, and of LangGraph's checkpoint tables with them.

Two processes may start at once: an advisory lock lets one migrate while the other waits. The waiting one polls
instead of blocking, because a blocked statement would hold the snapshot that `CREATE INDEX CONCURRENTLY` (in
LangGraph's migrations) waits for.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, LiteralString, NamedTuple, cast

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, errors, sql
from psycopg.rows import DictRow

from ...state.errors import StorageError
from .row_security import lift, secure

Connection = AsyncConnection[DictRow]

_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('everthread.migrations.' || %s, 0)) AS locked"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended('everthread.migrations.' || %s, 0))"
_LOCK_SECONDS = 120.0


class Migration(NamedTuple):
    """One step of the schema: its number, its name, its SQL."""

    version: int
    name: str
    statements: LiteralString


def migrations() -> list[Migration]:
    """All migrations in order, read from `migrations/` (blocking)."""
    found = []
    for file in (files(__package__) / "migrations").iterdir():
        if match := re.fullmatch(r"(\d+)_(\w+)\.sql", file.name):
            text: LiteralString = file.read_text(encoding="utf-8")  # our own files, not input
            found.append(Migration(int(match[1]), match[2], text))
    return sorted(found)


async def migrate(connection: Connection, schema: str) -> list[int]:
    """Bring the schema up to date; returns the versions applied now. Needs a connection in autocommit.

    Raises:
        StorageError: the server lacks pgvector, or another process holds the lock for too long.
    """
    steps = await asyncio.to_thread(migrations)
    async with _lock(connection, schema):
        await _prepare(connection, schema)
        cursor = await connection.execute("SELECT version FROM everthread_migrations")
        applied = {row["version"] for row in await cursor.fetchall()}
        if newer := applied - {step.version for step in steps}:
            raise StorageError(
                f"The schema {schema!r} is at version {max(newer)}, which this everthread does not know: upgrade it."
            )
        due = [step for step in steps if step.version not in applied]
        if due:
            await lift(connection)
        for step in due:
            async with connection.transaction():
                await connection.execute(step.statements, prepare=False)  # several statements at once
                await connection.execute(
                    "INSERT INTO everthread_migrations (version, name) VALUES (%s, %s)", (step.version, step.name)
                )
        await AsyncPostgresSaver(cast("Any", connection)).setup()
        await secure(connection)
    return [step.version for step in due]


async def _prepare(connection: Connection, schema: str) -> None:
    try:
        await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        with contextlib.suppress(errors.UniqueViolation):  # another schema's process makes it at this moment
            await connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise StorageError(
            "The database server has no pgvector: install the extension 'vector' there, or unset "
            "EVERTHREAD_DATABASE_URL to use the embedded server."
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StorageError(
            f"The database user may not create schema {schema!r} or the extension 'vector': grant it, or let an "
            "administrator create both."
        ) from error
    await connection.execute(
        "CREATE TABLE IF NOT EXISTS everthread_migrations ("
        "version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
    )


@asynccontextmanager
async def _lock(connection: Connection, schema: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_LOCK_SECONDS):
            while not await _locked(connection, schema):  # noqa: ASYNC110  # the lock is in the database
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise StorageError(
            f"Another process has been migrating schema {schema!r} for over {_LOCK_SECONDS:.0f} s: wait for it, or "
            "end it, and start again."
        ) from None
    try:
        yield
    finally:
        if not connection.closed:
            await connection.execute(_UNLOCK, (schema,))


async def _locked(connection: Connection, schema: str) -> bool:
    cursor = await connection.execute(_LOCK, (schema,))
    row = await cursor.fetchone()
    return bool(row and row["locked"])
