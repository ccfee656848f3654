"""`FileLocks`: locks of threads between processes on one machine, as locks on files, which die with their process.

Whoever deletes the file of a lock lets two turns run at once. So before a turn writes, its file must still be there.
"""

from __future__ import annotations

import asyncio
import contextlib
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..state.errors import ClaimLostError, StorageError
from .postgres.thread_lock import POLL_SECONDS, ThreadLocks

if TYPE_CHECKING:
    from filelock import AsyncFileLock


class FileLocks(ThreadLocks):
    """The locks of one process, and one file in a folder for each thread in which a turn runs.

    Args:
        folder: where the files are; it is made where there is none.
        claims: of the storage: by thread, what fails where this process has it no longer.
    """

    def __init__(self, folder: Path, claims: dict[str, Any]) -> None:
        super().__init__()
        self._folder = folder
        self._claims = claims
        self._held: dict[str, AsyncFileLock] = {}

    async def _take_between_processes(self, thread_id: str) -> None:
        await self._acquire(thread_id, waits=True)

    async def _try_between_processes(self, thread_id: str) -> bool:
        return await self._acquire(thread_id, waits=False)

    async def _acquire(self, thread_id: str, *, waits: bool) -> bool:
        name = blake2b(thread_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        path = self._folder / f"{name}.lock"
        try:
            lock = await asyncio.to_thread(_lock, path)
            await lock.acquire(blocking=waits)
        except TimeoutError:  # of `filelock`, which says so at once where it does not wait
            return False
        except OSError as error:
            raise StorageError(
                f"The lock {path} cannot be taken: {error.strerror}. Check the folder and its owner."
            ) from error
        self._held[thread_id] = lock
        self._claims[thread_id] = _Claim(thread_id, path, await asyncio.to_thread(_identity, path))
        return True

    async def _give_back_between_processes(self, thread_id: str) -> None:
        claim: _Claim | None = self._claims.pop(thread_id, None)
        lock = self._held.pop(thread_id, None)
        if claim is None or lock is None:  # lost, and not to be had again
            return
        if not await asyncio.to_thread(claim.is_lost):  # else the file is another's
            claim.is_given_back = True
            await asyncio.to_thread(remove, Path(lock.lock_file))
        await lock.release()


def _lock(path: Path) -> AsyncFileLock:
    """A lock that is not taken yet (blocking: imports, and makes the folder)."""
    from filelock import AsyncFileLock

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return AsyncFileLock(path, mode=0o600, poll_interval=POLL_SECONDS)


def _identity(path: Path) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


class _Claim:
    """Fails where the file of a lock is another by now; not for what is written late, after the lock was given back."""

    def __init__(self, thread_id: str, path: Path, identity: tuple[int, int] | None) -> None:
        self._thread_id, self._path, self._identity = thread_id, path, identity
        self.is_given_back = False

    def is_lost(self) -> bool:
        """Whether the file is gone, or another (blocking)."""
        return self._identity is None or _identity(self._path) != self._identity

    def __call__(self, *_: Any) -> list[dict[str, Any]]:
        if not self.is_given_back and self.is_lost():
            raise ClaimLostError(self._thread_id)
        return []


def remove(path: Path) -> None:
    """Remove the file of a lock that is held; who waits for it makes another one (blocking)."""
    with contextlib.suppress(OSError):  # Windows removes no open file
        path.unlink()
