"""Erasure: what was deleted leaves the files too, as far as that is in the power of who runs this.

A database keeps deleted bytes in free pages and logs until something else takes their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ..storage.loop_thread import io_thread
from ..storage.storage import Connection, Storage

if TYPE_CHECKING:  # else where Postgres is what keeps everything, and so is imported
    from psycopg import sql

    from ..storage.postgres.database import Database

TABLES: Final = (
    "messages", "summaries", "summary_versions", "vectors", "facts", "pins", "turn_reports", "threads", "search_cache",
    "documents", "checkpoints", "checkpoint_blobs", "checkpoint_writes",
)  # fmt: skip
"""The tables of Postgres that hold what was said."""

_LOCK_SECONDS: Final = 15


async def flush_wal(storage: Storage) -> None:
    """Bring what SQLite has in its log into the file, and empty the log."""

    async def work(connection: Connection) -> None:
        await connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    await storage.run(work, one_statement=True)


async def rebuild_file(storage: Storage) -> None:
    """Write SQLite's file again: `secure_delete` overwrites rows, but not what stayed where a row was moved from."""

    async def work(connection: Connection) -> None:
        await connection.execute("VACUUM")

    await storage.run(work, one_statement=True)
    await flush_wal(storage)


async def rewrite_tables(storage: Storage) -> list[str]:
    """Write the tables and indexes of Postgres again, and begin a new log; returns what was not allowed.

    Others wait for each table as long as it takes, about a second for 100 MB.
    """
    return await io_thread.run(_rewrite_tables(cast("Database", storage)))


async def _rewrite_tables(database: Database) -> list[str]:
    from psycopg import sql

    from ..storage.postgres.errors import storage_errors

    refused: list[str] = []
    with storage_errors():
        async with await database.connect() as connection:
            await connection.execute(sql.SQL("SET lock_timeout = {}").format(f"{_LOCK_SECONDS}s"))
            for table in TABLES:
                name = sql.Identifier(database.schema, table)
                of = sql.Literal(f'"{database.schema}"."{table}"')
                await _tried(connection, sql.SQL(_STATISTICS).format(of), f"the statistics of {table}", refused)
                await _tried(connection, sql.SQL("VACUUM (FULL, ANALYZE) {}").format(name), table, refused)
            for statement, what in _OF_SERVER:
                await _tried(connection, sql.SQL(statement), what, refused)
    return refused


_STATISTICS: Final = """
DELETE FROM pg_catalog.pg_statistic
WHERE starelid = {0}::regclass OR starelid IN (SELECT relid FROM pg_partition_tree({0}))"""
"""They hold texts that come often; of an empty table nothing takes their place."""

_OF_SERVER: Final = (
    ("VACUUM FULL pg_catalog.pg_statistic", "the server's statistics"),
    ("CHECKPOINT", "a checkpoint"),
    ("SELECT pg_switch_wal()", "a new segment of the log"),
    ("CHECKPOINT", "a checkpoint"),
)


async def _tried(connection: Connection, statement: sql.SQL | sql.Composed, what: str, refused: list[str]) -> None:
    from psycopg import errors

    try:
        await connection.execute(statement)
    except (errors.InsufficientPrivilege, errors.LockNotAvailable) as error:
        why = "this role may not" if isinstance(error, errors.InsufficientPrivilege) else "it is in use"
        refused.append(f"{what} ({why})")
