"""Which storage the settings ask for, and the checkpointer and the locks that go with it.

Each is imported when it is asked for: a command that reads a row of Postgres loads neither SQLite nor LangGraph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..settings.settings import Settings
from ..state.errors import StorageError
from .encryption import MasterKeySource
from .storage import Storage

if TYPE_CHECKING:
    from .json.database import JsonDatabase
    from .loop_checkpointer import LoopCheckpointer
    from .postgres.database import Database
    from .postgres.thread_lock import ThreadLocks
    from .sqlite.database import SqliteDatabase


def storage_of(settings: Settings, master_key: MasterKeySource | None = None) -> Storage:
    """The storage that the settings name; nothing is opened yet.

    Where they name none, the embedded server, or a file in an installation without it.

    Args:
        settings: its address, and `encryption_key`.
        master_key: what encrypts, instead of that key.

    Raises:
        StorageError: it is Postgres, whose driver is not installed.
    """
    if master_key is None and settings.encryption_key is not None:
        master_key = settings.encryption_key.get_secret_value()
    from .embedded.begun import SQLITE_FILE, is_installed

    kind = settings.storage_kind
    if settings.database_url is None and not is_installed():
        kind = "sqlite"
    if kind == "postgres":
        if not _has_driver():
            extra = "local" if settings.server_url is None else "postgres"
            raise StorageError(
                f"Postgres needs packages that are missing: pip install 'everthread[{extra}]', or set "
                "EVERTHREAD_DATABASE_URL to sqlite to keep everything in a file."
            )
        from .postgres.database import Database

        return Database(settings, master_key)
    from .data_dir import data_dir_of
    from .json.database import JsonDatabase
    from .sqlite.database import SqliteDatabase

    folder = data_dir_of(settings)
    make, name = (JsonDatabase, "memory.json") if kind == "json" else (SqliteDatabase, SQLITE_FILE)
    return make(settings, settings.storage_path or folder / name, master_key)


def import_all() -> None:
    """Import what `storage_of` imports, if installed: an event loop in which it is called may not read files."""
    from .json import database as _  # noqa: F401

    if _has_driver():
        from .postgres import claims, database  # noqa: F401


def _has_driver() -> bool:
    """Whether the driver of Postgres is there, with a libpq of its own (psycopg-binary) or the system's."""
    try:
        import psycopg as _  # noqa: F401
    except ImportError:
        return False
    return True


def checkpointer_of(storage: Storage) -> LoopCheckpointer:
    """The checkpointer that keeps its checkpoints in this storage."""
    if storage.kind == "postgres":
        from .postgres.checkpointer import PostgresCheckpointer

        return PostgresCheckpointer(cast("Database", storage))
    from .sqlite.checkpointer import SqliteCheckpointer

    return SqliteCheckpointer(cast("SqliteDatabase", storage))


def locks_of(storage: Storage) -> ThreadLocks:
    """The locks of threads that hold between all processes that use this storage."""
    if storage.kind == "postgres":
        from .postgres.claims import PostgresLocks

        return PostgresLocks(cast("Database", storage))
    if storage.kind == "json":
        from .json.database import JsonLocks

        return JsonLocks(cast("JsonDatabase", storage))
    from .file_locks import FileLocks

    database = cast("SqliteDatabase", storage)
    return FileLocks(database.path.with_name(f"{database.path.name}.locks"), database.claims)
