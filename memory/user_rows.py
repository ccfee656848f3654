"""`UserRows`: the one way to rows that belong to a user. Without a user, nothing is read or written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg.rows import DictRow

from ..state.errors import StorageError
from .database import Connection, Database

_USER = "%(user_id)s"


class UserRows:
    """Queries in the name of one user.

    Args:
        database: where the rows are.
        user_id: whose rows they are.

    Raises:
        StorageError: the user id is empty.
    """

    def __init__(self, database: Database, user_id: str) -> None:
        if not isinstance(user_id, str) or not user_id.strip():
            raise StorageError("A query for a user's data came without a user id: pass user_id in the context.")
        self._database = database
        self.user_id = user_id

    async def fetch(self, query: LiteralString, /, **values: Any) -> list[DictRow]:
        """Run one query, in a transaction of its own, and return its rows.

        Raises:
            StorageError: the query does not ask for the user, or the database fails.
        """
        return await self.transaction((query, values))

    async def transaction(self, *queries: tuple[LiteralString, Mapping[str, Any]]) -> list[DictRow]:
        """Run several queries in one transaction; returns the rows of the last one.

        Raises:
            StorageError: a query does not ask for the user, or the database fails.
        """
        for query, _ in queries:
            if _USER not in query:
                raise StorageError(f"A query for a user's data does not filter by {_USER}: add the filter.")

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
