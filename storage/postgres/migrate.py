"""Versioned migrations of our tables, and of LangGraph's checkpoint tables with them.

Whatever is due is done in one transaction: wholly or not at all. Two processes may start at once: a lock of that
transaction lets one migrate while the other waits. Where nothing is due, nothing is written and nothing is locked, so
that a database that takes no writes can be opened, by a login that owns none of it.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, Final, LiteralString, NamedTuple, cast

from psycopg import AsyncConnection, errors, sql
from psycopg.rows import DictRow

from ...state.errors import StorageError
from .row_security import Wall, lift, secure, standing, warn

Connection = AsyncConnection[DictRow]

_LOCK: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended('everthread.migrations.' || %s, 0)) AS locked"
_LOCK_SECONDS: Final = 120.0
_UNHURRIED: Final = "SET LOCAL statement_timeout = 0"
"""What a login is given for its statements is meant for those of turns, and not for a step on a large table."""
_SCHEMA: Final = "SELECT to_regnamespace(quote_ident(%s)) IS NOT NULL AS there"
_EXTENSION: Final = """
SELECT nspname AS schema, has_schema_privilege(n.oid, 'USAGE') AS is_usable
FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'vector'"""
_TABLES: Final = """
SELECT to_regclass('everthread_migrations') IS NOT NULL AND to_regclass('checkpoint_migrations') IS NOT NULL AS there"""
_APPLIED: Final = "SELECT version FROM everthread_migrations"
_APPLIED_TO_CHECKPOINTS: Final = "SELECT coalesce(max(v), -1) AS v FROM checkpoint_migrations"

LAST_OF_CHECKPOINTS: Final = 9
"""The number of the last of LangGraph's own migrations of its tables (`tests/test_memory_alone.py` compares it)."""


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


async def bring_up_to_date(connection: Connection, schema: str) -> Wall:
    """Bring the schema up to date where it is not; returns how its wall stands.

    Args:
        connection: in autocommit.
        schema: which; it is made where it is missing.

    Raises:
        StorageError: the schema is of a newer version, the server lacks pgvector, the login may not make what is
            missing, or another process holds the lock for too long.
    """
    steps = await asyncio.to_thread(migrations)
    wall = await _as_it_is(connection, schema, steps)
    if wall is None or not wall.stands:
        try:
            wall = await _migrate(connection, schema, steps)
        except (errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege):
            if wall is None:
                raise
    warn(wall)
    return wall


async def _as_it_is(connection: Connection, schema: str, steps: list[Migration]) -> Wall | None:
    """How the wall of an up-to-date schema stands; None where something is due. Writes nothing."""
    async with connection.transaction():
        path = await enter_schema(connection, schema)
        if not (await _row(connection, _TABLES))["there"]:
            return None
        if _due(await _applied(connection), steps, schema):
            return None
        if (await _row(connection, _APPLIED_TO_CHECKPOINTS))["v"] < _newest_of_checkpoints():
            return None
        return await standing(connection, path)


@asynccontextmanager
async def alone(connection: Connection, schema: str) -> AsyncIterator[None]:
    """A transaction in which no other process migrates the schema, and no statement is ended for its time.

    Raises:
        StorageError: another process is about it for too long.
    """
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        async with connection.transaction():
            if (await _row(connection, _LOCK, schema))["locked"]:
                await connection.execute(_UNHURRIED)
                yield
                return
        if time.monotonic() > until:
            raise StorageError(
                f"Another process has been migrating schema {schema!r} for over {_LOCK_SECONDS:.0f} s: wait for it, "
                "or end it, and start again."
            )
        await asyncio.sleep(0.05)


async def _migrate(connection: Connection, schema: str, steps: list[Migration]) -> Wall:
    async with alone(connection, schema):
        await _make_room(connection, schema)
        path = await enter_schema(connection, schema)
        if due := _due(await _applied(connection), steps, schema):
            await lift(connection)
        for step in due:
            await connection.execute(step.statements, prepare=False)  # several statements at once
            await connection.execute(
                "INSERT INTO everthread_migrations (version, name) VALUES (%s, %s)", (step.version, step.name)
            )
        await _make_checkpoint_tables(connection)
        await secure(connection)
        return await standing(connection, path)


def _newest_of_checkpoints() -> int:
    """The number of the last of LangGraph's migrations; where no graph has loaded LangGraph, of the one known here."""
    langgraph = sys.modules.get("langgraph.checkpoint.postgres.aio")
    return LAST_OF_CHECKPOINTS if langgraph is None else len(langgraph.AsyncPostgresSaver.MIGRATIONS) - 1


async def _make_checkpoint_tables(connection: Connection) -> None:
    """LangGraph's tables. An index is made like all else in our transaction, in which none can be made beside it."""
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    class Tables(AsyncPostgresSaver):
        MIGRATIONS = [step.replace(" CONCURRENTLY", "") for step in AsyncPostgresSaver.MIGRATIONS]  # noqa: RUF012

    await Tables(cast("Any", connection)).setup()


def _due(applied: set[int], steps: list[Migration], schema: str) -> list[Migration]:
    if newer := applied - {step.version for step in steps}:
        raise StorageError(
            f"The schema {schema!r} is at version {max(newer)}, which this everthread does not know: upgrade it."
        )
    return [step for step in steps if step.version not in applied]


async def _make_room(connection: Connection, schema: str) -> None:
    """Make the schema, the extension and the table of versions, each where it is missing."""
    try:
        if not (await _row(connection, _SCHEMA, schema))["there"]:
            await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        if not await (await connection.execute(_EXTENSION)).fetchall():
            await _make_extension(connection)
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
        sql.SQL(
            "CREATE TABLE IF NOT EXISTS {}.everthread_migrations ("
            "version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        ).format(sql.Identifier(schema))
    )


async def _make_extension(connection: Connection) -> None:
    try:
        async with connection.transaction():
            await connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
    except errors.UniqueViolation:  # another schema's process has made it at this moment
        return


async def enter_schema(connection: Connection, schema: str) -> str:
    """Name the schemas for the rest of the transaction: ours, and that of pgvector; returns them."""
    rows = await (await connection.execute(_EXTENSION)).fetchall()
    if barred := next((row["schema"] for row in rows if not row["is_usable"]), None):
        raise StorageError(
            f"The database user may not use the schema {barred!r}, in which pgvector is: let an administrator grant "
            "USAGE on it to that user."
        )
    names = [sql.Identifier(name) for name in dict.fromkeys([schema, *(row["schema"] for row in rows), "public"])]
    path = sql.SQL(", ").join(names).as_string(connection)
    await connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(sql.SQL(path)))
    return path


async def _applied(connection: Connection) -> set[int]:
    return {row["version"] for row in await (await connection.execute(_APPLIED)).fetchall()}


async def _row(connection: Connection, query: LiteralString, *values: Any) -> DictRow:
    row = await (await connection.execute(query, values)).fetchone()
    assert row is not None  # noqa: S101  # each has one
    return row
