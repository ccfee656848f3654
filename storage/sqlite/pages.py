"""The free pages of SQLite's file: given back to the disk, a few at a time or all at once."""

from __future__ import annotations

import sqlite3
from typing import Final

_INCREMENTAL: Final = 2
"""What SQLite calls a file that can give pages back without being written again."""

_SPARE: Final = 256
"""Free pages that a file keeps for what is written next: a megabyte."""

_AT_ONCE: Final = 256
"""Pages that are given back at the end of a turn."""


def begin_incremental(connection: sqlite3.Connection) -> None:
    """Have a file that is empty yet give its free pages back."""
    if not connection.execute("PRAGMA page_count").fetchone()[0]:
        connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")


def give_back_pages(connection: sqlite3.Connection) -> None:
    """Give some free pages back, beyond those that the next turns use."""
    free = connection.execute("PRAGMA freelist_count").fetchone()[0] - _SPARE
    if free > 0 and _is_incremental(connection):
        for _ in range(min(free, _AT_ONCE)):  # Python runs the statement for one page only, whatever number it is given
            connection.execute("PRAGMA incremental_vacuum(1)")


def give_back_all_pages(connection: sqlite3.Connection) -> None:
    """Give all free pages back; a file of an earlier version is written again for it. Outside of a transaction."""
    if not connection.execute("PRAGMA freelist_count").fetchone()[0]:
        return
    if _is_incremental(connection):
        connection.executescript("PRAGMA incremental_vacuum")
    else:
        connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
        connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _is_incremental(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA auto_vacuum").fetchone()[0] == _INCREMENTAL)
