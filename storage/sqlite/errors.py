"""What SQLite and the file system raise, as errors of ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ...state.errors import StorageError, StorageFull, StorageUnreachable

_PASSING: Final = (
    "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_IOERR"
)  # fmt: skip
"""Errors after which the same may succeed later."""


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection writes just now."""
    return str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY")


class sqlite_errors:  # noqa: N801  # reads as a statement
    """Turns errors of SQLite and of the file system into `StorageError` with one clear sentence.

    Args:
        path: the file it is about.
        sentence: says what an error of SQLite means.
    """

    def __init__(self, path: Path, sentence: Callable[[sqlite3.Error], str]) -> None:
        self._path = path
        self._sentence = sentence

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, TimeoutError):
            raise StorageUnreachable(f"{self._path} cannot be used: {error.strerror}. Check the folder.") from error
        if isinstance(error, UnicodeError):
            raise StorageError("The database refused: a text holds a lone surrogate.") from error
        if isinstance(error, sqlite3.Error):
            name = str(getattr(error, "sqlite_errorname", ""))
            if name == "SQLITE_FULL":
                raise StorageFull from error
            passes = name.startswith(_PASSING)
            raise (StorageUnreachable if passes else StorageError)(self._sentence(error)) from error
