"""`SqliteDatabase`: everything in one file of SQLite, in WAL mode, for any number of processes on one machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from ...settings.settings import Settings
from ...settings.storage import StorageKind
from ...state.errors import StorageError, first_line
from ...state.observer import Observer
from ..embedded.begun import refuse_other
from ..encryption import MasterKeySource
from ..held import Held
from ..loop_thread import io_thread
from ..queries import Procedure
from ..storage import Connection
from ..unwritten import Unwritten
from ..user_keys import UserKeys
from .connection import SqliteConnection
from .errors import is_busy, sqlite_errors
from .migrate import bring_up_to_date
from .pages import give_back_all_pages
from .queries import QUERIES
from .values import add_functions

T = TypeVar("T")

_BUSY_SECONDS: Final = 30.0
_AGAIN_SECONDS: Final = 0.2
_WAIT: Final = "PRAGMA busy_timeout = {:.0f}"
_LEAST: Final = (3, 35, 0)
"""The first SQLite that knows RETURNING."""


class SqliteDatabase:
    """One connection in a thread of its own, so that no event loop waits for the disk. Transactions take turns.

    Args:
        settings: kept for those who ask for them.
        path: the file; it is made where there is none.
        master_key: encrypts what is stored; None for nothing.

    Attributes:
        claims: by thread that this process has claimed, what fails once it has it no longer: see `file_locks.py`.
    """

    queries = QUERIES
    standby = None

    turns = 0
    """Turns that run and whose end makes their checkpoints durable; counted where each step has its price."""

    def __init__(self, settings: Settings, path: Path, master_key: MasterKeySource | None = None) -> None:
        self.settings = settings
        self.keys = UserKeys(self, master_key)
        self.observer = Observer()
        self.write_error: str | None = None
        self.unwritten = Unwritten(self)
        self.held = Held()
        self.path = path
        self.claims: dict[str, Any] = {}
        self._thread: ThreadPoolExecutor | None = None
        self._open: sqlite3.Connection | None = None
        self._turn = asyncio.Lock()
        self._is_busy = False

    @property
    def kind(self) -> StorageKind:
        """SQLite."""
        return "sqlite"

    async def open(self) -> None:
        """Open the file, or make it, and bring its tables up to date.

        Raises:
            StorageError: it cannot be opened, is damaged, or is of a newer everthread.
        """
        await self.on_thread(lambda _: None)
        await self.keys.check()

    async def run(
        self, work: Callable[[Connection], Awaitable[T]], *, one_statement: bool = False, one_pipeline: bool = False
    ) -> T:
        """Do `work` in one transaction, in which no other process writes.

        Raises:
            StorageError: the file cannot be read or written.
        """
        return await io_thread.run(self._run(work, one_statement))

    async def on_thread(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        """Do `work`, which is not async, in one transaction in the thread of the connection.

        Args:
            work: what is done with the connection.
            durable: a crash of the process right after may not undo it; of use where that has its price.

        Raises:
            StorageError: the file cannot be read or written.
        """

        async def transaction() -> T:
            with self.observer.database():
                async with self._turn:
                    return await self._in_thread(lambda: self._done(work, durable=durable))

        return await io_thread.run(transaction())

    async def shrink(self) -> None:
        """Give the free pages of the file back to the disk; `StorageError` where it cannot be written."""
        await io_thread.run(self._shrink())

    @property
    def checkpoints_kept(self) -> int | None:
        """Checkpoints of a thread that its turns leave; None for all."""
        return self.settings.retention.checkpoints

    @property
    def row_security(self) -> None:
        """Nothing: SQLite has no row-level security."""

    def scope(self, user_id: str | None, member: str | None = None) -> None:
        """Nothing: no transaction has to say whose rows it meets."""

    def fence(self, thread_id: str) -> tuple[Procedure, Mapping[str, Any]] | None:
        """What fails where this process has lost its claim of a thread; None where it has none."""
        hold = self.claims.get(thread_id)
        return None if hold is None else (hold, {})

    def connections(self) -> dict[str, int]:
        """Nothing: there is no pool."""
        return {}

    async def close(self) -> None:
        """Close the file. The next use opens it again."""
        await io_thread.run(self._close())

    async def _run(self, work: Callable[[Connection], Awaitable[T]], one_statement: bool) -> T:
        with self.observer.database():
            async with self._turn:
                connection = SqliteConnection(await self._in_thread(self._opened), self._in_thread)
                if one_statement:
                    try:
                        return await work(connection)
                    finally:
                        await self._in_thread(self._written)
                try:
                    await self._in_thread(self._begin)
                    result = await work(connection)
                    await self._in_thread(self._commit)
                except BaseException:
                    await self._in_thread(self._roll_back)
                    raise
                return result

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"everthread-{self.kind}")
        with self._told_plainly():
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _shrink(self) -> None:
        async with self._turn:
            await self._in_thread(lambda: give_back_all_pages(self._opened()))

    async def _close(self) -> None:
        async with self._turn:
            thread, self._thread = self._thread, None
            if thread is not None:
                with self._told_plainly():
                    await asyncio.get_running_loop().run_in_executor(thread, self._closed)
                thread.shutdown(wait=False)

    def _done(self, work: Callable[[sqlite3.Connection], T], *, durable: bool) -> T:
        connection = self._opened()
        self._begin()
        try:
            result = work(connection)
            self._commit(durable=durable)
        except BaseException:
            self._roll_back()
            raise
        return result

    def _begin(self) -> None:
        """Begin a transaction; where another process has been writing for too long, nobody waits so long once more."""
        connection = self._opened()
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if is_busy(error):
                self._is_busy = True
                connection.execute(_WAIT.format(_AGAIN_SECONDS * 1000))
            raise
        if self._is_busy:
            self._is_busy = False
            connection.execute(_WAIT.format(_BUSY_SECONDS * 1000))

    def _commit(self, *, durable: bool = True) -> None:
        connection = self._opened()
        if connection.in_transaction:  # LangGraph's saver commits by itself
            connection.execute("COMMIT")
        self._written(durable=durable)

    def _roll_back(self) -> None:
        if self._open is not None and self._open.in_transaction:
            self._open.execute("ROLLBACK")

    def _written(self, *, durable: bool = True) -> None:
        """After each transaction."""

    def _opened(self) -> sqlite3.Connection:
        if self._open is None:
            connection = self._connect()
            try:
                bring_up_to_date(connection, self.path)
                self._begin_with(connection)
            except BaseException:
                connection.close()
                raise
            self._open = connection
        return self._open

    def _connect(self) -> sqlite3.Connection:
        refuse_other(self.settings, self.path.parent, self.kind)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Never opened beside SQLite once it is there: closing it would drop the locks that this process has on it.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return connect(str(self.path))

    def _begin_with(self, connection: sqlite3.Connection) -> None:
        """What is done with a connection once."""

    def _closed(self) -> None:
        connection, self._open = self._open, None
        if connection is not None:
            connection.close()

    def _told_plainly(self) -> sqlite_errors:
        return sqlite_errors(self.path, self._sentence)

    def _sentence(self, error: sqlite3.Error) -> str:
        """What an error of SQLite means, in one clear sentence."""
        name = str(getattr(error, "sqlite_errorname", ""))
        return next((say for start, say in self._sentences().items() if name.startswith(start)), "") or (
            f"The database refused: {first_line(error)}."
        )

    def _sentences(self) -> dict[str, str]:
        busy = (
            f"Another process has been writing to {self.path} for over {_BUSY_SECONDS:.0f} s: wait for it, or end it."
        )
        damaged = (
            f"{self.path} is damaged or no SQLite database: put a backup in its place, or save what can be read with "
            f"`sqlite3 {self.path} .recover`."
        )
        unusable = f"{self.path} cannot be used: check the folder, its owner and the disk."
        return {
            **dict.fromkeys(("SQLITE_BUSY", "SQLITE_LOCKED"), busy),
            **dict.fromkeys(("SQLITE_CORRUPT", "SQLITE_NOTADB"), damaged),
            **dict.fromkeys(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_IOERR"), unusable),
        }


def connect(name: str) -> sqlite3.Connection:
    """A connection in autocommit to a file, or to ":memory:".

    Raises:
        StorageError: the SQLite of this Python is too old.
    """
    if sqlite3.sqlite_version_info < _LEAST:
        raise StorageError(
            f"This Python comes with SQLite {sqlite3.sqlite_version}: expected 3.35 or newer. Use a newer Python."
        )
    connection = sqlite3.connect(name, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    add_functions(connection)
    connection.execute("PRAGMA secure_delete = ON")
    return connection
