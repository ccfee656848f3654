"""`Server`: how one process reaches its Postgres server: a pool of connections, opened, lost and opened again."""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from ...settings.settings import Settings
from ...state.errors import StorageError, StorageFull, StorageUnreachable, first_line
from ..data_dir import data_dir_of
from ..embedded.begun import refuse_other
from ..embedded.server import ensure_server, is_full
from ..loop_thread import io_thread
from .adapters import adapt
from .errors import address, passes, storage_errors
from .migrate import bring_up_to_date
from .row_security import Wall
from .standby import of_primary, standby_of

logger = logging.getLogger(__name__)
# What a pipeline drops behind its first error, which is raised and told.
logging.getLogger("psycopg").addFilter(lambda record: "error ignored" not in str(record.msg))

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

_CONNECT_SECONDS: Final = 10
_OPENING_SECONDS: Final = 20.0
"""That opening retries while the server starts, ends connections, or has no room for more."""

_PATIENCE_SECONDS: Final = 5.0
"""That turns wait for a server that was lost, as long as a restart takes; it is reached beside them then."""

_LATER_PATIENCE_SECONDS: Final = 1.0
"""The same where it was not reached the last time."""


def _let_go(pool: Pool) -> None:
    """Close the pool of a server that nobody closed and nobody has any more: its tasks would wait for ever."""
    if not pool.closed:
        asyncio.run_coroutine_threadsafe(pool.close(timeout=1), io_thread.loop)


class Server:
    """The connections of one process to one schema of a server. Used on the database's loop only.

    Args:
        settings: those of `Database`.

    Attributes:
        wall: how the rows of users are kept apart there, once it was reached.
        standby: its standbys, for what is much to read; None where the URL names none.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.wall = Wall(stands=False, as_role=False, search_path="")
        self.standby = standby_of(settings.server_url, self._options(), settings.pool_size)
        self._pool: Pool | None = None
        self._reaching: asyncio.Task[Pool] | None = None
        self._was_open, self._begun_at, self._rests_until = False, 0.0, 0.0
        self._refused: StorageUnreachable | None = None

    async def pool(self, lost: Pool | None = None) -> Pool:
        """The pool; where there is none, or it is the one that lost a connection, once the server answers.

        Raises:
            StorageUnreachable: the server does not answer. A process that had it waits for seconds only.
            StorageError: it cannot be used.
        """
        reaching, now = self._reaching, time.monotonic()
        if reaching is None or reaching.done():
            if self._pool is not None and self._pool is not lost:
                return self._pool
            if self._refused is not None and now < self._rests_until:
                raise self._refused.with_traceback(None)
            self._begun_at = now
            reaching = self._reaching = asyncio.create_task(self._reach(lost if self._pool is lost else None))
            reaching.add_done_callback(lambda done: done.cancelled() or done.exception())
        patience = _PATIENCE_SECONDS if self._refused is None else _LATER_PATIENCE_SECONDS
        left = max(0.0, self._begun_at + patience - now) if self._was_open else None
        await asyncio.wait({reaching}, timeout=left)
        if self._refused is not None:
            raise self._refused.with_traceback(None)
        if not reaching.done() or reaching.cancelled():
            raise StorageUnreachable("The database does not answer: it is tried again beside the turns.")
        return reaching.result()

    async def connect(self) -> Connection:
        """A connection of its own, outside the pool, in autocommit."""
        await self.pool()
        connection = await AsyncConnection.connect(await self.url(), **self._options())
        await adapt(connection)
        return connection

    async def url(self) -> str:
        """The address of the server; an embedded one is started where it does not run."""
        if (url := self._settings.server_url) is not None:
            return of_primary(url)
        return await asyncio.to_thread(self._embedded)

    def _embedded(self) -> str:
        refuse_other(self._settings, self._data_dir, "postgres")
        return ensure_server(self._data_dir)

    def counts(self) -> dict[str, int]:
        """How many connections are idle and in use, and how many callers wait for one; nothing without a pool."""
        if self._pool is None:
            return {}
        stats = self._pool.get_stats()
        idle = stats.get("pool_available", 0)
        return {"idle": idle, "used": stats.get("pool_size", 0) - idle, "wanted": stats.get("requests_waiting", 0)}

    async def close(self) -> None:
        """Give all connections back. An embedded server stops by itself after its last client."""
        reaching, self._was_open, self._refused = self._reaching, False, None
        if reaching is not None and not reaching.done():
            reaching.cancel()
            await asyncio.wait({reaching})
        pool, self._pool = self._pool, None
        if self.standby is not None:
            await self.standby.close()
        if pool is not None:
            await pool.close(timeout=5)

    async def _reach(self, lost: Pool | None) -> Pool:
        started = time.monotonic()
        try:
            with storage_errors():
                self._pool = await (self._new_pool() if lost is None else self._mended(lost))
        except StorageUnreachable as error:
            # As long again as it took nobody waits for the same once more.
            self._rests_until = 2 * time.monotonic() - started
            self._refused = StorageFull() if self._is_full() else error
            raise
        self._refused, self._was_open = None, True
        return self._pool

    async def _mended(self, pool: Pool) -> Pool:
        """After a lost connection: start the embedded server again if it is gone, and weed out dead connections.

        The pool's own check of each connection is not used: it costs a round trip each time, and after a failed one
        it waits for seconds, or for its whole timeout if the pool is closed meanwhile.

        Raises:
            StorageError: the server cannot be reached; the pool is given up, and the next use retries.
        """
        logger.warning("A connection to the database was lost: connecting again.")
        try:
            async with self._connection(await self.url(), self._options()):
                pass
        except StorageError:
            self._pool = None
            await pool.close(timeout=1)
            raise
        await pool.check()
        return pool

    def _is_full(self) -> bool:
        """Whether the embedded server has no room to start again."""
        return self._settings.server_url is None and is_full(self._data_dir)

    async def _new_pool(self) -> Pool:
        url = await self.url()
        options = self._options()
        self.wall = await self._up_to_date(url, options)
        pool: Pool = AsyncConnectionPool(
            url,
            kwargs=options,
            min_size=1,
            max_size=self._settings.pool_size,
            max_idle=300,
            max_lifetime=3600,
            timeout=30,
            configure=adapt,
            open=False,
            name="everthread",
        )
        try:
            await pool.open(wait=True, timeout=_CONNECT_SECONDS)
        except BaseException:
            await pool.close(timeout=1)
            raise
        weakref.finalize(self, _let_go, pool).atexit = False
        return pool

    async def _up_to_date(self, url: str, options: dict[str, Any]) -> Wall:
        until = time.monotonic() + _OPENING_SECONDS
        while True:
            try:
                async with self._connection(url, options) as connection:
                    return await bring_up_to_date(connection, self._settings.database_schema)
            except (StorageUnreachable, psycopg.OperationalError, psycopg.InterfaceError) as error:
                if time.monotonic() > until or not passes(error):
                    raise
                logger.info("The database has no connection for us yet: trying again.")
                await asyncio.sleep(0.5)

    @asynccontextmanager
    async def _connection(self, url: str, options: dict[str, Any]) -> AsyncIterator[Connection]:
        try:
            connection = await AsyncConnection.connect(url, **options)
        except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
            # A string that cannot be read is quoted in its error, password and all.
            unread = isinstance(error, psycopg.ProgrammingError)
            reason = "this is no connection string that Postgres reads" if unread else first_line(error)
            raise StorageUnreachable(
                f"The database at {address(url)} cannot be reached: {reason}. "
                "Check EVERTHREAD_DATABASE_URL, or unset it to use the embedded server."
            ) from error
        async with connection:
            await adapt(connection)
            yield connection

    def _options(self) -> dict[str, Any]:
        return {
            "autocommit": True,
            "row_factory": dict_row,
            "prepare_threshold": 0 if self._settings.prepare_statements else None,
            "connect_timeout": _CONNECT_SECONDS,
        }

    @property
    def _data_dir(self) -> Path:
        return data_dir_of(self._settings)
