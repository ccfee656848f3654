"""`UserRows`: the one way to rows that belong to a user. Without a user, nothing is read or written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from psycopg.rows import DictRow, tuple_row

from ..state.errors import StorageError
from ..state.messages import clean_text
from .queries import Query
from .readable import Skipped
from .storage import Connection, Storage

T = TypeVar("T")

_USER: Final = ("%(user_id)s", ":user_id")
"""How the statements of Postgres and of SQLite ask for the user."""


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
        self.skipped = Skipped(database)

    async def fetch(self, query: str, /, **values: Any) -> list[DictRow]:
        """Run one query, in a transaction of its own, and return its rows.

        Raises:
            StorageError: the query does not ask for the user, or the database fails.
        """
        statement = self._query(query)

        async def work(connection: Connection) -> list[DictRow]:
            cursor = await connection.execute(statement, {**values, "user_id": self.user_id})
            return await cursor.fetchall() if cursor.description is not None else []

        return await self._database.run(work, one_statement=True)

    async def transaction(self, *queries: tuple[str, Mapping[str, Any]]) -> list[DictRow]:
        """Run several queries in one transaction; returns the rows of the last one.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """
        named = [(self._query(name), values) for name, values in queries]

        async def work(connection: Connection) -> list[DictRow]:
            rows: list[DictRow] = []
            async with connection.pipeline():
                cursors = [
                    await connection.execute(query, {**values, "user_id": self.user_id}) for query, values in named
                ]
            if cursors[-1].description is not None:
                rows = await cursors[-1].fetchall()
            return rows

        return await self._database.run(work)

    async def tuples(self, *queries: tuple[str, Mapping[str, Any]]) -> list[list[tuple[Any, ...]]]:
        """Run several reading queries after each other, sent at once; returns the rows of each, in binary and plain.

        Each sees what was committed before it began.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """
        named = [(self._query(name), values) for name, values in queries]

        async def work(connection: Connection) -> list[list[tuple[Any, ...]]]:
            cursors = [connection.cursor(binary=True, row_factory=tuple_row) for _ in queries]
            async with connection.pipeline():
                for cursor, (query, values) in zip(cursors, named, strict=True):
                    await cursor.execute(query, {**values, "user_id": self.user_id})
                return [await cursor.fetchall() for cursor in cursors]

        return await self._database.run(work, one_statement=True)

    async def fetch_each(self, *queries: tuple[str, Mapping[str, Any]]) -> list[list[DictRow]]:
        """Run several reading queries after each other, sent at once; returns the rows of each.

        Each sees what was committed before it began.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """
        named = [(self._query(name), values) for name, values in queries]

        async def work(connection: Connection) -> list[list[DictRow]]:
            async with connection.pipeline():
                cursors = [
                    await connection.execute(query, {**values, "user_id": self.user_id}) for query, values in named
                ]
            return [await cursor.fetchall() for cursor in cursors]

        return await self._database.run(work, one_statement=True)

    async def exclusive(self, work: Callable[[Exchange], Awaitable[T]]) -> T:
        """Read rows, and write what follows from them, in one transaction that waits for others of the same user.

        It is done once more from its start if the connection is lost: so `work` must be safe to repeat.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """

        async def in_turn(connection: Connection) -> T:
            await connection.execute(self._database.queries["users.lock"], {"user_id": self.user_id})
            return await work(Exchange(connection, self._query, self.user_id, self.skipped))

        return await self._database.run(in_turn)

    async def snapshot(self, work: Callable[[Snapshot], Awaitable[T]]) -> T:
        """Do `work`, which reads any number of rows as they were at one moment, on the database's loop.

        It is done once more from its start if the connection is lost: so it must be safe to repeat.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """

        async def in_snapshot(connection: Connection) -> T:
            await connection.execute(self._database.queries["users.snapshot"], {"user_id": self.user_id})
            return await work(Snapshot(connection, self._query, self.user_id))

        return await self._database.run(in_snapshot)

    def _query(self, name: str) -> Query:
        """The statement of this name, or one that is given as it is; it must ask for the user."""
        query = self._database.queries.get(name, name)
        if isinstance(query, str) and not any(user in query for user in _USER):
            raise StorageError(f"The query {name!r} for a user's data does not filter by the user: add the filter.")
        return query


class Exchange:
    """A user's rows while nobody else changes them by `UserRows.alone`, which makes it."""

    def __init__(self, connection: Connection, query: Callable[[str], Query], user_id: str, skipped: Skipped) -> None:
        self._connection = connection
        self._query = query
        self.user_id = user_id
        self.skipped = skipped

    async def fetch(self, query: str, /, **values: Any) -> list[DictRow]:
        """Run one query and return its rows, if it has any.

        Raises:
            StorageError: the query does not ask for the user.
        """
        cursor = await self._connection.execute(self._query(query), {**values, "user_id": self.user_id})
        return await cursor.fetchall() if cursor.description is not None else []


class Snapshot:
    """A user's rows as they were at one moment, however many there are. Made by `UserRows.snapshot`."""

    def __init__(self, connection: Connection, query: Callable[[str], Query], user_id: str) -> None:
        self._connection = connection
        self._query = query
        self.user_id = user_id

    async def batches(self, query: str, /, **values: Any) -> AsyncIterator[list[DictRow]]:
        """The rows of a query, 500 at a time. One query is to be read to its end before the next begins.

        Raises:
            StorageError: the query does not ask for the user.
        """
        async with self._connection.cursor(name="everthread_snapshot") as cursor:
            await cursor.execute(self._query(query), {**values, "user_id": self.user_id})
            while rows := await cursor.fetchmany(SNAPSHOT_ROWS):
                yield rows
