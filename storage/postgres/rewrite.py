"""`rewrite`: tables and write-ahead log without what was overwritten or deleted."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from psycopg import errors, sql

from ...state.errors import first_line
from ..loop_thread import io_thread
from .database import Database
from .errors import storage_errors

logger = logging.getLogger(__name__)

_LOG_ANEW: Final = (
    "ALTER SYSTEM SET wal_recycle = off",
    "SELECT pg_reload_conf()",
    "SELECT pg_switch_wal()",
    "CHECKPOINT",
    "SELECT pg_switch_wal()",
    "CHECKPOINT",
    "ALTER SYSTEM RESET wal_recycle",
    "SELECT pg_reload_conf()",
)
"""The second checkpoint removes the files of the log that the first one still needed."""


async def rewrite(database: Database, tables: Sequence[str]) -> None:
    """Rewrite tables with what is in them now; of the embedded server, remove the write-ahead log before as well.

    Nobody else can use a table while it is rewritten. Where the login may not, a warning says so.

    Raises:
        StorageError: the database fails.
    """
    await io_thread.run(_rewrite(database, tables))


async def _rewrite(database: Database, tables: Sequence[str]) -> None:
    with storage_errors():
        connection = await database.connect()
        async with connection:
            try:
                for table in tables:
                    await connection.execute(sql.SQL("VACUUM (FULL) {}").format(sql.Identifier(database.schema, table)))
                if database.settings.server_url is None:
                    for statement in _LOG_ANEW:
                        await connection.execute(statement.encode())
            except errors.InsufficientPrivilege as error:
                logger.warning("The files of the database were not rewritten: %s.", first_line(error))
