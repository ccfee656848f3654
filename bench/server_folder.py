"""A folder for an embedded server that is stopped and removed with it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from everthread.storage.embedded import supervisor
from everthread.storage.embedded.server import leave_server

_STOP_SECONDS = 45.0


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


def stop_server(data_dir: Path) -> None:
    """Stop the embedded server of a folder now, whoever uses it; harmless if none runs."""
    data_dir = data_dir.resolve()
    leave_server(data_dir)
    if not data_dir.is_dir():
        return
    end = time.monotonic() + _STOP_SECONDS
    if supervisor.is_supervised(data_dir):
        os.kill(int((data_dir / supervisor.SUPERVISOR_LOCK).read_text()), signal.SIGTERM)
    while supervisor.is_supervised(data_dir) and time.monotonic() < end:
        time.sleep(0.02)
    for pgdata in data_dir.glob("pg[0-9]*"):
        supervisor.stop_unsupervised(pgdata)
