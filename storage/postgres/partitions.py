"""`partition`: the rows of users in hash partitions, so that no table and no index grows with the number of users.

Every table with a column `user_id` is divided by it, and LangGraph's by the thread. Two stay whole, as they are asked
across users: whose a thread is, and who shares a space. One table at a time is copied, in one transaction in which
nobody else can use it: wholly or not at all, so that what was stopped goes on with the next run.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Final, NamedTuple

from psycopg import AsyncConnection, errors, sql
from psycopg.rows import DictRow

from ...state.errors import InputError, StorageError
from ..loop_thread import io_thread
from .database import Database
from .errors import storage_errors
from .migrate import alone, enter_schema
from .row_security import secure

Connection = AsyncConnection[DictRow]

MOST: Final = 256
"""Partitions of a table, at most: a migration locks all of all tables, and a server has room for 6,400 locks."""

WHOLE: Final = ("threads", "space_members")
"""Tables with a column `user_id` that stay in one piece: their rows are asked for before it is known whose they are."""

_TABLES: Final = """
SELECT c.relname AS name, a.attname AS key, coalesce(n.number, 1) AS partitions
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND NOT a.attisdropped
LEFT JOIN LATERAL (SELECT count(*) AS number FROM pg_inherits WHERE inhparent = c.oid HAVING count(*) > 0) AS n ON true
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname <> ALL(%(whole)s)
  AND (a.attname = 'user_id'
       OR (a.attname = 'thread_id' AND c.relname IN ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes')))
ORDER BY c.relname"""
_MOVE: Final = (files(__package__) / "partition.sql").read_text(encoding="utf-8")


class Partitioned(NamedTuple):
    """A table.

    Attributes:
        name: its name.
        key: the column that says in which partition a row is.
        partitions: how many it has; 1 for a table in one piece.
    """

    name: str
    key: str
    partitions: int


async def partitions_of(database: Database) -> list[Partitioned]:
    """The tables that can be divided, and in how many partitions they are.

    Raises:
        StorageError: the database fails.
    """

    async def work(connection: Connection) -> list[Partitioned]:
        rows = await (await connection.execute(_TABLES, {"whole": list(WHOLE)})).fetchall()
        return [Partitioned(**row) for row in rows]

    return await database.run(work)


async def partition(database: Database, number: int, advance: Callable[[str], None] = lambda table: None) -> int:
    """Bring every table of users into so many hash partitions; returns how many tables were moved.

    Args:
        database: whose login owns the tables.
        number: of partitions, in [1, `MOST`]; 1 brings a table back into one piece.
        advance: is called with the name of each table when it was moved.

    Raises:
        InputError: that is no number of partitions.
        StorageError: the login does not own the tables, another process migrates them, or the database fails. The
            table that was being moved is as it was.
    """
    if not 1 <= number <= MOST:
        raise InputError(f"{number} partitions: expected 1 (tables in one piece) to {MOST}.")
    moved = [table for table in await partitions_of(database) if table.partitions != number]
    for table in moved:
        await io_thread.run(_move(database, table, number))
        advance(table.name)
    return len(moved)


async def _move(database: Database, table: Partitioned, number: int) -> None:
    values = {"moved": table.name, "key": table.key, "number": number}
    with storage_errors():
        connection = await database.connect()
        async with connection:
            try:
                async with alone(connection, database.schema):
                    await enter_schema(connection, database.schema)
                    for name, value in values.items():
                        await connection.execute("SELECT set_config(%s, %s, true)", (f"everthread.{name}", str(value)))
                    await connection.execute(_MOVE.encode(), prepare=False)
                    await secure(connection)
                await connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(database.schema, table.name)))
            except errors.InsufficientPrivilege as error:
                raise StorageError(
                    f"The table {table.name} cannot be moved by this login: run it as the owner of the tables."
                ) from error
