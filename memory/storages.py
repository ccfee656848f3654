"""Which storage the settings ask for, and the checkpointer and the locks that go with it."""

from __future__ import annotations

from typing import cast

from ..state.settings import Settings
from .checkpointer import PostgresCheckpointer
from .database import Database
from .loop_checkpointer import LoopCheckpointer
from .storage import Storage
from .thread_lock import PostgresLocks, ThreadLocks


def storage_of(settings: Settings) -> Storage:
    """The storage that the settings name; nothing is opened yet."""
    return Database(settings)


def checkpointer_of(storage: Storage) -> LoopCheckpointer:
    """The checkpointer that keeps its checkpoints in this storage."""
    return PostgresCheckpointer(cast("Database", storage))


def locks_of(storage: Storage) -> ThreadLocks:
    """The locks of threads that hold between all processes that use this storage."""
    return PostgresLocks(cast("Database", storage))
