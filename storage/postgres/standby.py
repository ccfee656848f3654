"""`Standby`: a standby of the server, for what is much to read and may be a moment old.

A `database_url` of several hosts means one server and its standbys: whichever takes writes is written to, also after it
was replaced, and a standby is read where a user's whole memory is. Whoever says `target_session_attrs` in the URL means
that alone. How far behind the standby is does not matter: what changed since is read from the server, as ever.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from ...state.errors import StorageUnreachable, first_line
from ..loop_thread import io_thread
from .adapters import adapt

logger = logging.getLogger(__name__)

T = TypeVar("T")
Connection = AsyncConnection[DictRow]

_WAIT_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 30.0
"""How long no standby is asked after one did not answer."""

_IS_STANDBY: Final = "SELECT pg_is_in_recovery() AS so"


def of_primary(url: str) -> str:
    """The URL, so that of several hosts the one is met that takes writes."""
    return make_conninfo(url, target_session_attrs="primary") if _has_standbys(url) else url


def standby_of(url: str | None, options: dict[str, Any], size: int) -> Standby | None:
    """The standbys that a URL names; None where it names none.

    Args:
        url: of the server; None for the embedded one.
        options: of each connection.
        size: connections, at most.
    """
    return Standby(url, options, size) if url is not None and _has_standbys(url) else None


def _has_standbys(url: str) -> bool:
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # which is reported where it is connected to
        return False
    return "," in str(parts.get("host", "")) and "target_session_attrs" not in parts


class Standby:
    """Connections to the standbys of a server, opened when they are needed."""

    def __init__(self, url: str, options: dict[str, Any], size: int) -> None:
        self._url = make_conninfo(url, target_session_attrs="standby", load_balance_hosts="random")
        self._options, self._size = options, size
        self._pool: AsyncConnectionPool[Connection] | None = None
        self._opening = asyncio.Lock()
        self._not_before = 0.0

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, one_statement: bool = False) -> T:
        """Do `work`, which only reads, in no transaction but its own.

        Raises:
            StorageUnreachable: no standby answers soon, or it fails there.
        """
        return await io_thread.run(self._run(work))

    async def _run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        if time.monotonic() < self._not_before:
            raise StorageUnreachable("The standby of the database did not answer just now.")
        try:
            async with (await self._opened()).connection() as connection:
                row = await (await connection.execute(_IS_STANDBY)).fetchone()
                if row is None or not row["so"]:  # it was promoted, and counts transactions of its own since
                    raise psycopg.OperationalError("it is none any more")
                return await work(connection)
        except psycopg.Error as error:
            why = first_line(error)
            logger.warning("For %.0f s no standby is read, but the server itself: %s.", _PAUSE_SECONDS, why)
            self._not_before = time.monotonic() + _PAUSE_SECONDS
            await self.close()
            raise StorageUnreachable(f"The standby of the database does not answer: {why}.") from error

    async def close(self) -> None:
        """Give the connections back. Only for use on the database's loop."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close(timeout=1)

    async def _opened(self) -> AsyncConnectionPool[Connection]:
        async with self._opening:
            if self._pool is None:
                pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
                    self._url,
                    kwargs=self._options,
                    min_size=0,
                    max_size=self._size,
                    max_idle=60,
                    timeout=_WAIT_SECONDS,
                    reconnect_timeout=_WAIT_SECONDS,
                    configure=adapt,
                    open=False,
                    name="everthread-standby",
                )
                await pool.open()
                self._pool = pool
            return self._pool
