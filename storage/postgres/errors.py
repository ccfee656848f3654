"""What the driver's errors mean, in one clear sentence each."""

from __future__ import annotations

from typing import Final

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout

from ...state.errors import ClaimLostError, StorageError, StorageFull, StorageReadOnly, StorageUnreachable, first_line

_PASSING: Final = (
    "too many clients", "connection slots", "too many connections", "no more connections", "the database system is",
    "terminating connection", "server closed the connection", "connection reset", "server login has been failing",
    "server conn crashed", "pooler is shut",
)  # fmt: skip
"""What servers and poolers say of that."""

LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)
"""Errors that say that the server is gone."""

_POOLER: Final = (errors.DuplicatePreparedStatement, errors.InvalidSqlStatementName)
"""What comes of prepared statements where a pooler gives each transaction another connection."""

_CLAIM_LOST: Final = "ET001"
"""What the function `hold_claim` of the schema raises."""


class storage_errors:  # noqa: N801  # reads as a statement
    """Turns the driver's errors into `StorageError` with one clear sentence."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, errors.DiskFull):
            raise StorageFull from error
        if isinstance(error, _POOLER):
            raise StorageError(
                f"The database refused: {first_line(error)}. Does PgBouncer stand in between, in transaction mode? "
                "Then set EVERTHREAD_PREPARE_STATEMENTS=false."
            ) from error
        if isinstance(error, errors.QueryCanceled) and "timeout" in str(error):
            raise StorageUnreachable(
                f"The database ended a statement: {first_line(error)}. Give its login a longer one, or see what it "
                "waited for."
            ) from error
        if isinstance(error, LOST):
            raise StorageUnreachable(
                f"The database does not answer: {first_line(error)}. Check that it runs."
            ) from error
        if isinstance(error, errors.ReadOnlySqlTransaction):
            raise StorageReadOnly from error
        if isinstance(error, psycopg.Error) and error.sqlstate == _CLAIM_LOST:
            raise ClaimLostError(first_line(error)) from error
        if isinstance(error, psycopg.Error):
            raise StorageError(f"The database refused: {first_line(error)}.") from error


def passes(error: BaseException) -> bool:
    """Whether a server says that it starts, ends connections, or has no room for more."""
    return any(words in str(error).lower() for words in _PASSING)


def address(url: str) -> str:
    """Where a connection URL points, without user and password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "the given URL"
    return f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"
