"""`UserRows`: the one way to rows that belong to a user. Without a user, nothing is read or written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, LiteralString, TypeVar

from psycopg.rows import DictRow, tuple_row

from ..state.errors import StorageError
from ..state.messages import clean_text
from .storage import Connection, Storage

T = TypeVar("T")

_USER = "%(user_id)s"

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s, 2))"

NOT_ALONE: Final = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%(user_id)s, 2))"
"""A query with which a transaction waits for those of `UserRows.alone`, and lets them wait."""

SNAPSHOT_ROWS: Final = 500
"""Rows of a snapshot that are in memory at once."""


class UserRows:
    """Queries in the name of one user.

    Args:
        database: where the rows are.
        user_id: whose rows they are.

    Raises:
        StorageError: the user id is empty, or holds what cannot be stored.
    """

    def __init__(self, database: Storage, user_id: str) -> None:
        if not isinstance(user_id, str) or not user_id.strip():
            raise StorageError("A query for a user's data came without a user id: pass user_id in the context.")
        if clean_text(user_id) != user_id:
            raise StorageError("The user id holds NUL or a lone surrogate, which cannot be stored: pass another one.")
        self._database = database
        self.user_id = user_id

    async def fetch(self, query: LiteralString, /, **values: Any) -> list[DictRow]:
        """Run one query, in a transaction of its own, and return its rows.

        Raises:
            StorageError: the query does not ask for the user, or the database fails.
        """
        _check(query)

        async def work(connection: Connection) -> list[DictRow]:
            cursor = await connection.execute(query, {**values, "user_id": self.user_id})
            return await cursor.fetchall() if cursor.description is not None else []

        return await self._database.run(work, one_statement=True)

    async def transaction(self, *queries: tuple[LiteralString, Mapping[str, Any]]) -> list[DictRow]:
        """Run several queries in one transaction; returns the rows of the last one.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """
        for query, _ in queries:
            _check(query)

        async def work(connection: Connection) -> list[DictRow]:
            rows: list[DictRow] = []
            async with connection.pipeline():
                cursors = [
                    await connection.execute(query, {**values, "user_id": self.user_id}) for query, values in queries
                ]
            if cursors[-1].description is not None:
                rows = await cursors[-1].fetchall()
            return rows

        return await self._database.run(work)

    async def tuples(self, *queries: tuple[LiteralString, Mapping[str, Any]]) -> list[list[tuple[Any, ...]]]:
        """Run several reading queries after each other, sent at once; returns the rows of each, in binary and plain.

        Each sees what was committed before it began.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """
        for query, _ in queries:
            _check(query)

        async def work(connection: Connection) -> list[list[tuple[Any, ...]]]:
            cursors = [connection.cursor(binary=True, row_factory=tuple_row) for _ in queries]
            async with connection.pipeline():
                for cursor, (query, values) in zip(cursors, queries, strict=True):
                    await cursor.execute(query, {**values, "user_id": self.user_id})
                return [await cursor.fetchall() for cursor in cursors]

        return await self._database.run(work, one_statement=True)

    async def fetch_each(self, *queries: tuple[LiteralString, Mapping[str, Any]]) -> list[list[DictRow]]:
        """Run several reading queries after each other, sent at once; returns the rows of each.

        Each sees what was committed before it began.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """
        for query, _ in queries:
            _check(query)

        async def work(connection: Connection) -> list[list[DictRow]]:
            async with connection.pipeline():
                cursors = [
                    await connection.execute(query, {**values, "user_id": self.user_id}) for query, values in queries
                ]
            return [await cursor.fetchall() for cursor in cursors]

        return await self._database.run(work, one_statement=True)

    async def alone(self, work: Callable[[Exchange], Awaitable[T]]) -> T:
        """Read rows, and write what follows from them, in one transaction that waits for others of the same user.

        It is done once more from its start if the connection is lost: so `work` must be safe to repeat.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """

        async def in_turn(connection: Connection) -> T:
            await connection.execute(_LOCK, {"user_id": self.user_id})
            return await work(Exchange(connection, self.user_id))

        return await self._database.run(in_turn)

    async def snapshot(self, work: Callable[[Snapshot], Awaitable[T]]) -> T:
        """Do `work`, which reads any number of rows as they were at one moment, on the database's loop.

        It is done once more from its start if the connection is lost: so it must be safe to repeat.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """

        async def in_snapshot(connection: Connection) -> T:
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return await work(Snapshot(connection, self.user_id))

        return await self._database.run(in_snapshot)


class UserTables:
    """Tables that hold rows of many users, each reached in the name of one.

    Args:
        database: where they are kept.
    """

    def __init__(self, database: Storage) -> None:
        self._database = database

    def of(self, user_id: str) -> UserRows:
        """The rows of one user.

        Raises:
            StorageError: the user id is empty, or holds what cannot be stored.
        """
        return UserRows(self._database, user_id)


class Exchange:
    """A user's rows while nobody else changes them by `UserRows.alone`, which makes it."""

    def __init__(self, connection: Connection, user_id: str) -> None:
        self._connection = connection
        self._user_id = user_id

    async def fetch(self, query: LiteralString, /, **values: Any) -> list[DictRow]:
        """Run one query and return its rows, if it has any.

        Raises:
            StorageError: the query does not ask for the user.
        """
        _check(query)
        cursor = await self._connection.execute(query, {**values, "user_id": self._user_id})
        return await cursor.fetchall() if cursor.description is not None else []


class Snapshot:
    """A user's rows as they were at one moment, however many there are. Made by `UserRows.snapshot`."""

    def __init__(self, connection: Connection, user_id: str) -> None:
        self._connection = connection
        self._user_id = user_id

    async def batches(self, query: LiteralString, /, **values: Any) -> AsyncIterator[list[DictRow]]:
        """The rows of a query, 500 at a time. One query is to be read to its end before the next begins.

        Raises:
            StorageError: the query does not ask for the user.
        """
        _check(query)
        async with self._connection.cursor(name="everthread_snapshot") as cursor:
            await cursor.execute(query, {**values, "user_id": self._user_id})
            while rows := await cursor.fetchmany(SNAPSHOT_ROWS):
                yield rows


def _check(query: str) -> None:
    if _USER not in query:
        raise StorageError(f"A query for a user's data does not filter by {_USER}: add the filter.")
