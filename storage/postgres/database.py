"""`Database`: one pool of Postgres connections for archive, vectors and checkpoints, on a loop of its own."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors

from ...settings.settings import Settings
from ...settings.storage import StorageKind
from ...state.observer import Observer
from ..encryption import MasterKeySource
from ..held import Held
from ..loop_thread import io_thread
from ..unwritten import Unwritten
from ..user_keys import UserKeys
from .errors import LOST, storage_errors
from .queries import QUERIES
from .row_security import IN_SCHEMA
from .server import Connection, Pool, Server
from .standby import Standby

logger = logging.getLogger(__name__)

T = TypeVar("T")


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
        self.server = Server(settings)
        self.tickets: dict[str, int] = {}

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
        await io_thread.run(self.server.pool())
        await self.keys.check()

    async def run(
        self, work: Callable[[Connection], Awaitable[T]], *, one_statement: bool = False, one_pipeline: bool = False
    ) -> T:
        """Do `work` on a pooled connection, in one transaction, on the database's loop.

        A connection that turns out to be lost (the server was restarted or killed) is replaced and the work is done
        once more: so `work` must be safe to repeat.

        Args:
            work: what is done with the connection.
            one_statement: it is a single statement, which is a transaction by itself: two round trips less. It must
                come behind that of `scope` in one pipeline.
            one_pipeline: it is one pipeline that begins with the statement of `scope`, which the server takes for one
                transaction, too: it ends where the pipeline does.

        Raises:
            StorageError: the server cannot be reached, or refuses (disk full, no permission).
            ClaimLostError: `fence` was asked, and the claim of the thread is lost.
        """
        return await io_thread.run(self._run(work, one_statement or one_pipeline))

    async def connect(self) -> Connection:
        """A connection of its own, outside the pool, in autocommit. Only for use on the database's loop.

        Which schema is meant is for each statement to say.
        """
        return await self.server.connect()

    @property
    def standby(self) -> Standby | None:
        """Where what is much to read may be read as well; None where the URL names no standby."""
        return self.server.standby

    @property
    def row_security(self) -> bool:
        """Whether the server itself keeps the rows of users apart, once it is open: see `row_security.py`."""
        return self.server.wall.stands

    def scope(self, user_id: str | None, member: str | None = None) -> tuple[str, Mapping[str, Any]]:
        """The statement, with its values, that says first in a transaction whose rows it meets; None: any user's."""
        return self.server.wall.scope(user_id, member)

    def fence(self, thread_id: str) -> tuple[str, Mapping[str, Any]] | None:
        """The statement, with its values, that fails where this process has lost its claim of a thread."""
        if (ticket := self.tickets.get(thread_id)) is None:
            return None
        return "SELECT hold_claim(%(thread_id)s, %(ticket)s)", {"thread_id": thread_id, "ticket": ticket}

    @property
    def in_schema(self) -> tuple[str, Mapping[str, Any]]:
        """The statement, with its values, that says only which schema is meant: of tables that are nobody's."""
        return IN_SCHEMA, {"search_path": self.server.wall.search_path}

    def connections(self) -> dict[str, int]:
        """How many connections are idle and in use, and how many callers wait for one; nothing before the first use."""
        return self.server.counts()

    async def close(self) -> None:
        """Give all connections back. The embedded server stops by itself after its last client."""
        await io_thread.run(self.server.close())

    async def on_pool(self, work: Callable[[Pool], Awaitable[T]]) -> T:
        """Do `work` with the pool, once more if the server turns out to be lost. Only on the database's loop.

        Raises:
            StorageError: the server cannot be reached, or refuses.
        """
        with self.observer.database(), storage_errors():
            pool = await self.server.pool()
            try:
                return await work(pool)
            except LOST as error:
                if isinstance(error, errors.InsufficientResources | errors.QueryCanceled | errors.DiskFull):
                    raise
                return await work(await self.server.pool(pool))

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
        begin = f"BEGIN; SET LOCAL search_path TO {self.server.wall.search_path}"
        await connection.execute(begin.encode(), prepare=False)
        try:
            yield
        except BaseException:
            with suppress(psycopg.Error):
                await connection.rollback()
            raise
        await connection.commit()
