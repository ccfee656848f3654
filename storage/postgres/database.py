"""`Database`: one pool of Postgres connections for archive, vectors and checkpoints, on a loop of its own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from ...settings.settings import Settings
from ...settings.storage import StorageKind
from ...state.errors import StorageError, StorageUnreachable, first_line
from ...state.observer import Observer
from ..embedded.server import default_data_dir, ensure_server
from ..encryption import MasterKeySource
from ..held import Held
from ..loop_thread import io_thread
from ..unwritten import Unwritten
from ..user_keys import UserKeys
from .errors import LOST, address, passes, storage_errors
from .migrate import bring_up_to_date
from .queries import QUERIES
from .row_security import IN_SCHEMA, Wall
from .times import read_times_so

logger = logging.getLogger(__name__)

T = TypeVar("T")
Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

_CONNECT_SECONDS = 10
_OPENING_SECONDS = 20.0
"""That opening retries while the server starts, ends connections, or has no room for more."""


class Database:
    """The connections of one process to one schema. Opens itself with the first use; may be used from any loop.

    No session is ever told anything that a later transaction needs, so that a pooler in transaction mode may stand in
    between: which schema is meant is said in each transaction.

    Args:
        settings: `database_url` (unset: the embedded server in `data_dir`), `database_schema`, `pool_size`,
            `prepare_statements`.
        master_key: encrypts what is stored; None for nothing.

    Attributes:
        tickets: by thread, those with which this process has claimed it: see `thread_lock.py`.
    """

    queries = QUERIES

    def __init__(self, settings: Settings, master_key: MasterKeySource | None = None) -> None:
        self.settings = settings
        self.keys = UserKeys(self, master_key)
        self.observer = Observer()
        self.write_error: str | None = None
        self.unwritten = Unwritten(self)
        self.held = Held()
        self._pool: Pool | None = None
        self._wall = Wall(stands=False, as_role=False, search_path="")
        self.tickets: dict[str, int] = {}
        self._opening = asyncio.Lock()
        self._refused_until, self._refused = 0.0, ""

    @property
    def kind(self) -> StorageKind:
        """Postgres."""
        return "postgres"

    @property
    def schema(self) -> str:
        """The Postgres schema of our tables."""
        return self.settings.database_schema

    async def open(self) -> None:
        """Start or reach the server, bring the schema up to date, fill the pool.

        Raises:
            StorageError: the server cannot be started or reached.
        """
        await io_thread.run(self._open_pool())
        await self.keys.check()

    async def run(self, work: Callable[[Connection], Awaitable[T]], *, one_statement: bool = False) -> T:
        """Do `work` on a pooled connection, in one transaction, on the database's loop.

        A connection that turns out to be lost (the server was restarted or killed) is replaced and the work is done
        once more: so `work` must be safe to repeat.

        Args:
            work: what is done with the connection.
            one_statement: it is a single statement, which is a transaction by itself: two round trips less. It must
                come behind that of `scope` in one pipeline.

        Raises:
            StorageError: the server cannot be reached, or refuses (disk full, no permission).
            ClaimLostError: `fence` was asked, and the claim of the thread is lost.
        """
        return await io_thread.run(self._run(work, one_statement))

    async def connect(self) -> Connection:
        """A connection of its own, outside the pool, in autocommit. Only for use on the database's loop.

        Which schema is meant is for each statement to say.
        """
        await self._open_pool()
        connection = await AsyncConnection.connect(await self._url(), **self._options())
        await read_times_so(connection)
        return connection

    @property
    def row_security(self) -> bool:
        """Whether the server itself keeps the rows of users apart, once it is open: see `row_security.py`."""
        return self._wall.stands

    def scope(self, user_id: str | None, member: str | None = None) -> tuple[str, Mapping[str, Any]]:
        """The statement, with its values, that says first in a transaction whose rows it meets; None: any user's."""
        return self._wall.scope(user_id, member)

    def fence(self, thread_id: str) -> tuple[str, Mapping[str, Any]] | None:
        """The statement, with its values, that fails where this process has lost its claim of a thread."""
        if (ticket := self.tickets.get(thread_id)) is None:
            return None
        return "SELECT hold_claim(%(thread_id)s, %(ticket)s)", {"thread_id": thread_id, "ticket": ticket}

    @property
    def in_schema(self) -> tuple[str, Mapping[str, Any]]:
        """The statement, with its values, that says only which schema is meant: of tables that are nobody's."""
        return IN_SCHEMA, {"search_path": self._wall.search_path}

    def connections(self) -> dict[str, int]:
        """How many connections are idle and in use, and how many callers wait for one; nothing before the first use."""
        if self._pool is None:
            return {}
        stats = self._pool.get_stats()
        idle = stats.get("pool_available", 0)
        return {"idle": idle, "used": stats.get("pool_size", 0) - idle, "wanted": stats.get("requests_waiting", 0)}

    async def close(self) -> None:
        """Give all connections back. The embedded server stops by itself after its last client."""
        await io_thread.run(self._close())

    async def on_pool(self, work: Callable[[Pool], Awaitable[T]]) -> T:
        """Do `work` with the pool, once more if the server turns out to be lost. Only on the database's loop.

        Raises:
            StorageError: the server cannot be reached, or refuses.
        """
        with self.observer.database(), storage_errors():
            pool = await self._open_pool()
            try:
                return await work(pool)
            except LOST as error:
                if isinstance(error, errors.InsufficientResources | errors.QueryCanceled):
                    raise
                await self._mend(pool)
                return await work(await self._open_pool())

    async def _run(self, work: Callable[[Connection], Awaitable[T]], one_statement: bool) -> T:
        async def on_connection(pool: Pool) -> T:
            async with pool.connection() as connection:
                if one_statement:
                    return await work(connection)
                async with self._transaction(connection):
                    return await work(connection)

        return await self.on_pool(on_connection)

    @asynccontextmanager
    async def _transaction(self, connection: Connection) -> AsyncIterator[None]:
        # One round trip for both. No query, which would keep the transaction from saying how isolated it is.
        begin = f"BEGIN; SET LOCAL search_path TO {self._wall.search_path}"
        await connection.execute(begin.encode(), prepare=False)
        try:
            yield
        except BaseException:
            with suppress(psycopg.Error):
                await connection.rollback()
            raise
        await connection.commit()

    async def _mend(self, pool: Pool) -> None:
        """After a lost connection: start the embedded server again if it is gone, and weed out dead connections.

        The pool's own check of each connection is not used: it costs a round trip each time, and after a failed one
        it waits for seconds, or for its whole timeout if the pool is closed meanwhile.

        Raises:
            StorageError: the server cannot be reached; the pool is given up, and the next use retries.
        """
        logger.warning("A connection to the database was lost: connecting again.")
        try:
            async with self._connection(await self._url(), self._options()):
                pass
        except StorageError:
            async with self._opening:
                if self._pool is pool:
                    self._pool = None
            await pool.close(timeout=1)
            raise
        await pool.check()

    async def _open_pool(self) -> Pool:
        async with self._opening:
            if self._pool is None:
                started = time.monotonic()
                if started < self._refused_until:
                    raise StorageUnreachable(self._refused)
                try:
                    with storage_errors():
                        self._pool = await self._new_pool()
                except StorageUnreachable as error:
                    # As long again as it took nobody waits for the same once more.
                    self._refused_until, self._refused = 2 * time.monotonic() - started, str(error)
                    raise
            return self._pool

    async def _new_pool(self) -> Pool:
        url = await self._url()
        options = self._options()
        self._wall = await self._up_to_date(url, options)
        pool: Pool = AsyncConnectionPool(
            url,
            kwargs=options,
            min_size=1,
            max_size=self.settings.pool_size,
            max_idle=300,
            max_lifetime=3600,
            timeout=30,
            configure=read_times_so,
            open=False,
            name="everthread",
        )
        await pool.open(wait=True, timeout=_CONNECT_SECONDS)
        return pool

    async def _up_to_date(self, url: str, options: dict[str, Any]) -> Wall:
        until = time.monotonic() + _OPENING_SECONDS
        while True:
            try:
                async with self._connection(url, options) as connection:
                    return await bring_up_to_date(connection, self.schema)
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
            await read_times_so(connection)
            yield connection

    def _options(self) -> dict[str, Any]:
        return {
            "autocommit": True,
            "row_factory": dict_row,
            "prepare_threshold": 0 if self.settings.prepare_statements else None,
            "connect_timeout": _CONNECT_SECONDS,
        }

    async def _url(self) -> str:
        if (url := self.settings.server_url) is not None:
            return url
        return await asyncio.to_thread(lambda: ensure_server(self.settings.data_dir or default_data_dir()))

    async def _close(self) -> None:
        async with self._opening:
            pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close(timeout=5)
