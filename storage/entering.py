"""How a transaction begins: whose rows it meets; and the statements that are not of one user."""

from __future__ import annotations

from typing import Any, Final

from ..state.errors import StorageError
from .storage import Connection, Storage
from .values import Row

ACROSS_USERS: Final = frozenset(
    {
        "archive.owner",
        "thread_copy.owner",
        "transfer.not_mine",
        "retention.threads",
        "user_keys.incomplete",
        "spaces.members",
    }
)
"""The statements that ask about rows of any user: whose a thread is, who there is, and who shares a space."""


async def enter(database: Storage, connection: Connection, user_id: str | None, member: str | None = None) -> None:
    """Say to the database whose rows the transaction meets, where it asks for that; None for any user's."""
    if (scope := database.scope(user_id, member)) is not None:
        await connection.execute(*scope)


async def across_users(database: Storage, query: str, /, **values: Any) -> list[Row]:
    """Run one of `ACROSS_USERS`, the only statements that are not kept to the rows of one user, and return its rows.

    Raises:
        StorageError: the query is none of them, or the database fails.
    """
    if query not in ACROSS_USERS:
        raise StorageError(f"The query {query!r} may not be run across users: use UserRows.")

    async def work(connection: Connection) -> list[Row]:
        async with connection.pipeline():
            await enter(database, connection, None)
            cursor = await connection.execute(database.queries[query], values)
        return await cursor.fetchall()

    return await database.run(work, one_statement=True)
