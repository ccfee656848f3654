"""`FileLocks`: locks of threads between processes on one machine, as locks on files, which die with their process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from hashlib import blake2b
from pathlib import Path

from ..state.errors import StorageError
from .postgres.thread_lock import POLL_SECONDS, ThreadLocks

if sys.platform != "win32":
    import fcntl


class FileLocks(ThreadLocks):
    """The locks of one process, and one file in a folder for each thread in which a turn runs.

    Args:
        folder: where the files are; it is made where there is none. On Windows there are none, and turns only wait
            for those of the same process.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._held: dict[str, int] = {}

    async def _take_between_processes(self, thread_id: str) -> None:
        path = self._path(thread_id)
        while (taken := await self._tried(path)) is None:  # noqa: ASYNC110  # another process holds it
            await asyncio.sleep(POLL_SECONDS)
        self._held[thread_id] = taken

    async def _tried(self, path: Path) -> int | None:
        attempt = asyncio.ensure_future(asyncio.to_thread(take, path))
        try:
            return await asyncio.shield(attempt)
        except asyncio.CancelledError:
            attempt.add_done_callback(lambda done: _undo(path, done))
            raise
        except OSError as error:
            raise StorageError(
                f"The lock {path} cannot be taken: {error.strerror}. Check the folder and its owner."
            ) from error

    async def _give_back_between_processes(self, thread_id: str) -> None:
        await asyncio.to_thread(give_back, self._path(thread_id), self._held.pop(thread_id))

    def _path(self, thread_id: str) -> Path:
        name = blake2b(thread_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return self._folder / f"{name}.lock"


def _undo(path: Path, attempt: asyncio.Future[int | None]) -> None:
    """Give back a lock that was taken for one who waits no longer."""
    if not attempt.cancelled() and attempt.exception() is None and (taken := attempt.result()) is not None:
        asyncio.get_running_loop().run_in_executor(None, give_back, path, taken)


def take(path: Path) -> int | None:
    """Take the lock on a file (blocking calls, no waiting); returns what gives it back, or None if another has it.

    Raises:
        OSError: the file cannot be made.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if sys.platform == "win32":
        return descriptor
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it before may have removed the file meanwhile, and another one stands there.
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


def give_back(path: Path, descriptor: int) -> None:
    """Give a lock back, and remove its file (blocking)."""
    with contextlib.suppress(OSError):
        path.unlink()
    os.close(descriptor)
