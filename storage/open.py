"""Which storage the settings ask for, and the checkpointer and the locks that go with it."""

from __future__ import annotations

from typing import cast

from ..settings.settings import Settings
from .embedded.server import default_data_dir
from .file_locks import FileLocks
from .json.database import JsonDatabase, JsonLocks
from .loop_checkpointer import LoopCheckpointer
from .postgres.checkpointer import PostgresCheckpointer
from .postgres.database import Database
from .postgres.thread_lock import PostgresLocks, ThreadLocks
from .sqlite.checkpointer import SqliteCheckpointer
from .sqlite.database import SqliteDatabase
from .storage import Storage


def storage_of(settings: Settings) -> Storage:
    """The storage that the settings name; nothing is opened yet."""
    if settings.storage_kind == "postgres":
        return Database(settings)
    kind = JsonDatabase if settings.storage_kind == "json" else SqliteDatabase
    name = "memory.json" if settings.storage_kind == "json" else "memory.db"
    return kind(settings, settings.storage_path or (settings.data_dir or default_data_dir()).expanduser() / name)


def checkpointer_of(storage: Storage) -> LoopCheckpointer:
    """The checkpointer that keeps its checkpoints in this storage."""
    if isinstance(storage, SqliteDatabase):
        return SqliteCheckpointer(storage)
    return PostgresCheckpointer(cast("Database", storage))


def locks_of(storage: Storage) -> ThreadLocks:
    """The locks of threads that hold between all processes that use this storage."""
    if isinstance(storage, JsonDatabase):
        return JsonLocks(storage)
    if isinstance(storage, SqliteDatabase):
        return FileLocks(storage.path.with_name(f"{storage.path.name}.locks"))
    return PostgresLocks(cast("Database", storage))
