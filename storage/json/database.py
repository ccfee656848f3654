"""`JsonDatabase`: everything in one JSON file that a person can read, for small threads and one process at a time.

The tables are those of `SqliteDatabase`, in memory; the whole file is rewritten after each change of the archive
and at the end of a turn, so that a turn costs the more the longer the file is. Where the disk fails, talk goes on in
memory: the user hears of it after the turn, and the next step retries.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...settings.settings import Settings
from ...settings.storage import StorageKind
from ...state.errors import StorageError
from ..encryption import MasterKeySource
from ..file_locks import remove
from ..postgres.thread_lock import ThreadLocks
from ..sqlite.database import SqliteDatabase, connect
from .file import Lines, Unread, read_into, write

if TYPE_CHECKING:
    from filelock import FileLock

logger = logging.getLogger(__name__)

_IN_MEMORY: Final = ":memory:"
_KEPT: Final = 64
"""Checkpoints of a thread in memory, at most, where the operator keeps all."""
_REMOVALS: Final = "SELECT coalesce(sum(times), 0) FROM memory_removals"


class JsonDatabase(SqliteDatabase):
    """One process may write: it holds a lock on the file. Another one may look at it, and is refused when it writes.

    Args:
        settings: kept for those who ask for them.
        path: the file; it is made with the first change.
        master_key: encrypts what is stored; None for nothing.
    """

    def __init__(self, settings: Settings, path: Path, master_key: MasterKeySource | None = None) -> None:
        super().__init__(settings, path, master_key)
        self._lock_path = path.with_name(f"{path.name}.lock")
        self._lock: FileLock | None = None
        self._holder = "another process"
        self._must_write = False
        self._unread: Unread = []
        self._lines: Lines = {}
        self._changes = 0
        self._written_changes = 0
        self._removals = 0

    @property
    def kind(self) -> StorageKind:
        """A JSON file."""
        return "json"

    @property
    def checkpoints_kept(self) -> int:
        """In memory, of each thread; only the newest stands in the file."""
        return self.settings.retention.checkpoints or _KEPT

    async def end_turn(self) -> None:
        """Write what the steps of a turn have left to its end.

        Raises:
            StorageError: the file cannot be read or written.
        """
        self.turns -= 1
        await self.on_thread(self._save)

    async def open(self) -> None:
        """Read the file, and keep other processes from writing to it.

        Raises:
            StorageError: another process writes to it, or it cannot be read, is damaged, or is of a newer everthread.
        """
        self._must_write = True
        if self._open is not None and self._lock is None:
            await self.close()
        await super().open()

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return connect(_IN_MEMORY)

    def _begin_with(self, connection: sqlite3.Connection) -> None:
        from filelock import FileLock, Timeout

        lock = FileLock(self._lock_path, mode=0o600, thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            with contextlib.suppress(OSError):  # given back just now, or on Windows, where a locked file is not read
                self._holder = f"the process {self._lock_path.read_text(encoding='utf-8') or 'that opens it now'}"
            if self._must_write:
                raise StorageError(self._taken()) from None
        else:
            self._lock = lock
            with contextlib.suppress(OSError):  # as above
                self._lock_path.write_text(str(os.getpid()), encoding="utf-8")
        try:
            self._unread = read_into(connection, self.path)
            for table, _, _ in self._unread:
                logger.warning("A row of %s in %s cannot be read: it stays there, as unread.", table, self.path)
                self.observer.skipped(table)
        except BaseException:
            self._let_go()
            raise
        if self._lock is None:
            connection.execute("PRAGMA query_only = ON")
        self._changes = self._written_changes = connection.total_changes

    def _written(self, *, durable: bool = True) -> None:
        if self._open is None:
            return
        before, self._changes = self._changes, self._open.total_changes
        if durable and (self._changes != before or self.write_error is not None):
            self._save(self._open)

    def _save(self, connection: sqlite3.Connection) -> None:
        if connection.total_changes == self._written_changes:
            return
        try:
            self._write(connection)
        except OSError as error:
            sentence = (
                f"{self.path} cannot be written ({error.strerror}): what was said since is kept in memory only, until "
                "a later turn can write it. Free some space, or check the folder."
            )
            if sentence != self.write_error:  # it is tried again with each step
                logger.error("%s", sentence)  # noqa: TRY400  # the sentence says it all
            self.write_error = sentence
        else:
            self.write_error = None

    def _write(self, connection: sqlite3.Connection) -> None:
        changes = connection.total_changes
        (removals,) = connection.execute(_REMOVALS).fetchone()
        write(connection, self.path, self._unread, self._lines)
        if removals != self._removals:  # what a user has deleted is not to stand in the backup
            write(connection, self.path, self._unread, self._lines)
        self._written_changes, self._removals = changes, removals

    def _closed(self) -> None:
        try:
            if self._open is not None and self._open.total_changes != self._written_changes:
                self._write(self._open)
        finally:
            super()._closed()
            self._lines.clear()
            self._let_go()

    def _let_go(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            remove(self._lock_path)
            lock.release()

    def _sentence(self, error: sqlite3.Error) -> str:
        if str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_READONLY"):
            return self._taken()
        return super()._sentence(error)

    def _taken(self) -> str:
        return (
            f"{self.path} is in use by {self._holder}, and a JSON file takes one at a time: end that one, or choose "
            "sqlite or postgres as EVERTHREAD_DATABASE_URL."
        )


class JsonLocks(ThreadLocks):
    """The locks of the one process that has the file; the end of a turn writes it.

    Args:
        database: the file.
    """

    def __init__(self, database: JsonDatabase) -> None:
        super().__init__()
        self._database = database

    async def _take_between_processes(self, thread_id: str) -> None:
        self._database.turns += 1

    async def _give_back_between_processes(self, thread_id: str) -> None:
        try:
            await self._database.end_turn()
        except StorageError as error:
            logger.error("The end of a turn was not written: %s", error)  # noqa: TRY400
