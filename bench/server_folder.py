"""A folder for an embedded server that is stopped and removed with it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from everthread.storage.embedded.server import stop_server


@contextmanager
def server_folder() -> Iterator[Path]:
    """A folder that the database's own user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="everthread-bench-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        stop_server(folder)
        shutil.rmtree(folder, ignore_errors=True)
