"""`SqliteConnection`: a connection of SQLite as our statements see one of Postgres, in a thread of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from ..queries import Query
from .values import parameters, readers

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]

Values = Mapping[str, Any] | Sequence[Any] | None


class SqliteConnection:
    """Statements, run by SQLite.

    Args:
        connection: to be used in its thread only.
        in_thread: runs a function there.
    """

    def __init__(self, connection: sqlite3.Connection, in_thread: InThread) -> None:
        self._connection = connection
        self._in_thread = in_thread

    async def execute(self, query: Any, params: Values = None, /) -> _SqliteCursor:
        """Run a statement; its rows are read at once."""
        return await self.cursor().execute(query, params)

    def cursor(self, name: str = "", **options: Any) -> _SqliteCursor:
        """A cursor; with `row_factory` its rows are plain."""
        return _SqliteCursor(self._connection, self._in_thread, plain="row_factory" in options, at_once=not name)

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[None]:
        """Nothing: there are no round trips."""
        yield


class _SqliteCursor:
    """What a statement brought, with times, flags and JSON as Python has them.

    Args:
        connection: to be used in its thread only.
        in_thread: runs a function there.
        plain: whether rows are tuples.
        at_once: whether all rows are read with the statement, or as they are asked for.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        in_thread: InThread,
        *,
        plain: bool,
        at_once: bool,
    ) -> None:
        self._connection = connection
        self._in_thread = in_thread
        self._plain = plain
        self._at_once = at_once
        self._found: list[Any] = []
        self._cursor: sqlite3.Cursor | None = None
        self.description: Sequence[Any] | None = None

    async def execute(self, query: Query, params: Values = None) -> Self:
        """Run a statement."""
        await self._in_thread(lambda: self._run(query, params))
        return self

    async def fetchone(self) -> Any:
        """The next row; None after the last."""
        rows = await self.fetchmany(1)
        return rows[0] if rows else None

    async def fetchall(self) -> list[Any]:
        """The rows that are left."""
        return await self.fetchmany(None)

    async def fetchmany(self, size: int | None) -> list[Any]:
        """Up to this many of the rows that are left; None for all."""
        if self._cursor is not None:
            return list(await self._in_thread(lambda: self._read(size)))
        size = len(self._found) if size is None else size
        found, self._found = self._found[:size], self._found[size:]
        return found

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._cursor is not None:
            cursor, self._cursor = self._cursor, None
            await self._in_thread(cursor.close)

    def _run(self, query: Query, params: Values) -> None:
        if callable(query):
            self._found = query(self._connection, parameters(params))
            self.description = ()
            return
        self._cursor = self._connection.execute(query, parameters(params))
        self.description = self._cursor.description
        if self._at_once:
            self._found, self._cursor = self._read(None) if self.description is not None else [], None

    def _read(self, size: int | None) -> list[Any]:
        if self._cursor is None or self.description is None:
            return []
        rows = self._cursor.fetchall() if size is None else self._cursor.fetchmany(size)
        names = [column[0] for column in self.description]
        read = readers(names)
        if self._plain and not read:
            return rows
        values = [self._values(list(row), read) for row in rows]
        return [tuple(row) for row in values] if self._plain else [dict(zip(names, row, strict=True)) for row in values]

    @staticmethod
    def _values(row: list[Any], read: Sequence[tuple[int, Callable[[Any], Any]]]) -> list[Any]:
        for index, reader in read:
            row[index] = reader(row[index])
        return row
