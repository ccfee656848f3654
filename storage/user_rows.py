"""`UserRows`: the one way to rows that belong to a user. Without a user, nothing is read or written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from copy import copy
from functools import partial
from typing import Any, Final, TypeVar

from ..state.errors import RightsError, StorageError
from ..state.messages import clean_text
from .entering import across_users, enter
from .queries import Query, asks_for_user
from .readable import Skipped
from .sealed_columns import Sealing, UnderKey
from .spaces import RIGHTS, Member, is_space
from .storage import Connection, Reader, Storage
from .values import Row

T = TypeVar("T")

SNAPSHOT_ROWS: Final = 500
"""Rows of a snapshot that are in memory at once."""


def _plain(_cursor: Any) -> type[tuple[Any, ...]]:
    """What a driver makes of a row: a tuple."""
    return tuple


class UserRows:
    """Queries in the name of one user.

    Args:
        database: where the rows are.
        user_id: whose rows they are.
        member: the user who acts where they are a space's, with the rights of that user there.
        is_upkeep: whether a space's rows are met without a member: for what a process does beside.

    Raises:
        RightsError: the rows are a space's, and nobody is named who acts in it.
        StorageError: the user id is empty, or holds what cannot be stored.
    """

    def __init__(self, database: Storage, user_id: str, *, member: str | None = None, is_upkeep: bool = False) -> None:
        if not isinstance(user_id, str) or not user_id.strip():
            raise StorageError("A query for a user's data came without a user id: pass user_id in the context.")
        if clean_text(user_id) != user_id:
            raise StorageError("The user id holds NUL or a lone surrogate, which cannot be stored: pass another one.")
        if is_space(user_id) and member is None and not is_upkeep:
            raise RightsError(f"{user_id!r} is a space: open it as a member, with `space` of a user's memory.")
        self._database = database
        self._reader: Reader = database
        self.user_id = user_id
        self._member = None if member is None else Member(user_id, member)
        self.skipped = Skipped(database)

    @property
    def storage(self) -> Storage:
        """Where the rows are."""
        return self._database

    def of_standby(self) -> UserRows | None:
        """The rows as they were a moment ago, for `tuples` alone; None where there is no standby."""
        if self._database.standby is None:
            return None
        then = copy(self)
        then._reader = self._database.standby
        return then

    async def fetch(self, query: str, /, **values: Any) -> list[Row]:
        """Run one query, in a transaction of its own, and return its rows.

        Raises:
            StorageError: the query does not ask for the user, or the database fails.
        """
        statement, sealing = self._query(query), await self.sealing()
        given = sealing.values(query, values)

        async def work(connection: Connection) -> list[Row]:
            async with connection.pipeline():
                await self._enter(connection, query)
                cursor = await connection.execute(statement, given)
            return await cursor.fetchall() if cursor.description is not None else []

        return sealing.rows(query, values, await self._database.run(work, one_statement=self._member is None))

    async def transaction(self, *queries: tuple[str, Mapping[str, Any]], fenced: str | None = None) -> list[Row]:
        """Run several queries in one transaction; returns the rows of the last one.

        Args:
            *queries: names, and values.
            fenced: the thread that is written to: refused where this process has claimed it, and the claim is lost.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
            ClaimLostError: the claim is lost; nothing was written.
        """
        fence = self._fence(fenced)
        sealing = await self.sealing()
        named = [(self._query(name), sealing.values(name, values)) for name, values in queries]

        async def work(connection: Connection) -> list[Row]:
            rows: list[Row] = []
            async with connection.pipeline():
                await self._enter(connection, *(name for name, _ in queries))
                if fence is not None:
                    await connection.execute(*fence)
                cursors = [await connection.execute(query, given) for query, given in named]
            if cursors[-1].description is not None:
                rows = await cursors[-1].fetchall()
            return rows

        return sealing.rows(*queries[-1], await self._database.run(work, one_pipeline=self._member is None))

    async def tuples(self, *queries: tuple[str, Mapping[str, Any]]) -> list[list[tuple[Any, ...]]]:
        """Run several reading queries after each other, sent at once; returns the rows of each, in binary and plain.

        Each sees what was committed before it began.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """
        sealing = await self.sealing()
        named = [(self._query(name), sealing.values(name, values)) for name, values in queries]

        async def work(connection: Connection) -> list[tuple[list[str], list[tuple[Any, ...]]]]:
            cursors = [connection.cursor(binary=True, row_factory=_plain) for _ in queries]
            async with connection.pipeline():
                await self._enter(connection, *(name for name, _ in queries))
                for cursor, (query, given) in zip(cursors, named, strict=True):
                    await cursor.execute(query, given)
            rows = [await cursor.fetchall() for cursor in cursors]
            return [
                ([column[0] for column in cursor.description], of) for cursor, of in zip(cursors, rows, strict=True)
            ]

        found = await self._reader.run(work, one_statement=self._member is None)
        return [sealing.tuples(name, *rows) for (name, _), rows in zip(queries, found, strict=True)]

    async def fetch_each(self, *queries: tuple[str, Mapping[str, Any]]) -> list[list[Row]]:
        """Run several reading queries after each other, sent at once; returns the rows of each.

        Each sees what was committed before it began.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """
        sealing = await self.sealing()
        named = [(self._query(name), sealing.values(name, values)) for name, values in queries]

        async def work(connection: Connection) -> list[list[Row]]:
            async with connection.pipeline():
                await self._enter(connection, *(name for name, _ in queries))
                cursors = [await connection.execute(query, given) for query, given in named]
            return [await cursor.fetchall() for cursor in cursors]

        found = await self._database.run(work, one_statement=self._member is None)
        return [sealing.rows(*query, rows) for query, rows in zip(queries, found, strict=True)]

    async def exclusive(self, work: Callable[[Exchange], Awaitable[T]], *, fenced: str | None = None) -> T:
        """Read rows, and write what follows from them, in one transaction that waits for others of the same user.

        It is done once more from its start if the connection is lost: so `work` must be safe to repeat.

        Args:
            work: what reads and writes.
            fenced: as for `transaction`.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
            ClaimLostError: the claim is lost; nothing was written.
        """
        fence = self._fence(fenced)
        sealing = await self.sealing()

        async def in_turn(connection: Connection) -> T:
            async with connection.pipeline():
                rights = await self._enter(connection)
                if fence is not None:
                    await connection.execute(*fence)
                await connection.execute(self._database.queries["users.lock"], {"user_id": self.user_id})
            return await work(Exchange(connection, partial(self._query, rights=rights), sealing, self.skipped))

        return await self._database.run(in_turn)

    async def snapshot(self, work: Callable[[Snapshot], Awaitable[T]]) -> T:
        """Do `work`, which reads any number of rows as they were at one moment, on the database's loop.

        It is done once more from its start if the connection is lost: so it must be safe to repeat.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """
        sealing = await self.sealing()

        async def in_snapshot(connection: Connection) -> T:
            async with connection.pipeline():
                await connection.execute(self._database.queries["users.snapshot"], {"user_id": self.user_id})
                rights = await self._enter(connection)
            return await work(Snapshot(connection, partial(self._query, rights=rights), sealing))

        return await self._database.run(in_snapshot)

    async def across(self, query: str, /, **values: Any) -> list[Row]:
        """Run one of `ACROSS_USERS`, in the name of this user: see `across_users`."""
        return await across_users(self._database, query, **values, user_id=self.user_id)

    async def sealing(self) -> Sealing:
        """How the user's values are stored: under their key, where the storage is encrypted.

        Raises:
            StorageError: the key is not to be had.
        """
        cipher = await self._database.keys.of(self.user_id)
        return Sealing(self.user_id) if cipher is None else UnderKey(cipher, self.skipped)

    async def destroy_key(self) -> None:
        """Destroy the user's key, when all that it sealed is deleted.

        Raises:
            StorageError: the database fails.
        """
        await self._database.keys.destroy(self.user_id)

    def _fence(self, thread_id: str | None) -> tuple[Any, Mapping[str, Any]] | None:
        """What fails where the claim is lost that this process has now: what is done late does not take a later one."""
        return None if thread_id is None else self._database.fence(thread_id)

    async def _enter(self, connection: Connection, *queries: str) -> frozenset[str]:
        """Begin a transaction that does these; returns what else may be done in it by a member of a space."""
        if self._member is None:
            await enter(self._database, connection, self.user_id)
            return frozenset()
        await enter(self._database, connection, self._member.user_id)
        rights = await self._member.rights(self._database, connection)
        self._member.check(rights, queries)
        await enter(self._database, connection, self.user_id, self._member.user_id)
        return rights

    def _query(self, name: str, rights: frozenset[str] = frozenset(RIGHTS)) -> Query:
        """The statement of this name, or one that is given as it is; it must ask for the user."""
        if self._member is not None:
            self._member.check(rights, [name])
        query = self._database.queries.get(name, name)
        if isinstance(query, str) and not asks_for_user(query):
            raise StorageError(f"The query {name!r} for a user's data does not filter by the user: add the filter.")
        return query


class Exchange:
    """A user's rows while nobody else changes them by `UserRows.alone`, which makes it."""

    def __init__(
        self, connection: Connection, query: Callable[[str], Query], sealing: Sealing, skipped: Skipped
    ) -> None:
        self._connection = connection
        self._query = query
        self._sealing = sealing
        self.user_id = sealing.user_id
        self.cipher = sealing.cipher
        self.skipped = skipped

    async def fetch(self, query: str, /, **values: Any) -> list[Row]:
        """Run one query and return its rows, if it has any.

        Raises:
            StorageError: the query does not ask for the user.
        """
        cursor = await self._connection.execute(self._query(query), self._sealing.values(query, values))
        rows = await cursor.fetchall() if cursor.description is not None else []
        return self._sealing.rows(query, values, rows)


class Snapshot:
    """A user's rows as they were at one moment, however many there are. Made by `UserRows.snapshot`."""

    def __init__(self, connection: Connection, query: Callable[[str], Query], sealing: Sealing) -> None:
        self._connection = connection
        self._query = query
        self._sealing = sealing
        self.user_id = sealing.user_id

    async def batches(self, query: str, /, *, damaged: bool = False, **values: Any) -> AsyncIterator[list[Row]]:
        """The rows of a query, 500 at a time. One query is to be read to its end before the next begins.

        Args:
            query: its name, or the statement.
            damaged: whether rows that do not open are among them, with None for the values that do not.
            **values: its parameters.

        Raises:
            StorageError: the query does not ask for the user.
        """
        async with self._connection.cursor(name="everthread_snapshot") as cursor:
            await cursor.execute(self._query(query), self._sealing.values(query, values))
            while rows := await cursor.fetchmany(SNAPSHOT_ROWS):
                yield self._sealing.rows(query, values, rows, damaged=damaged)
