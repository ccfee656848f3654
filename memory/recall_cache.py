"""`RecallCache`: the memories of the users that were here last, held by this process and brought up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Final, NamedTuple

from cachetools import LRUCache

from ..storage.loop_thread import io_thread
from ..storage.memory_changes import ALL, Changes, changes_since
from ..storage.user_rows import UserRows
from .user_memory import UserMemory

_FEW_CHANGES: Final = 32
"""Messages and vectors, as a turn or two bring them, that take about a millisecond to add to a memory."""

_SMALL: Final = 25_000
"""Messages in such a memory."""


class Known(NamedTuple):
    """A user's memory as it stands in the database.

    Attributes:
        memory: what can be searched.
        without_terms: whether a message's terms were not found yet.
        without_vectors: whether a message or summary was not embedded yet.
    """

    memory: UserMemory
    without_terms: bool
    without_vectors: bool


class _Held:
    """The memory of one user, and up to where it was read."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.memory = UserMemory()
        self.horizon = ALL
        self.removals: int | None = None


class RecallCache:
    """Reads a user's memory once, and then what changed since: whatever process wrote it, and however.

    Args:
        model: names the embedding model whose vectors are searched.
        max_bytes: bytes of all memories that are held, at most; the one in use is held anyway.
        forget: called when rows of a user were deleted, for what else this process holds of them.
    """

    def __init__(self, model: Callable[[], str], max_bytes: int, forget: Callable[[], None] = lambda: None) -> None:
        self._model = model
        self._forget = forget
        # A memory that is larger than all that may be held counts as that, so that it stays while it is in use.
        self._held = LRUCache[tuple[str, str], _Held](
            max_bytes, getsizeof=lambda held: min(max_bytes, held.memory.nbytes)
        )

    async def of(self, rows: UserRows) -> Known:
        """The memory of the user of these rows, with all that was committed before.

        Raises:
            StorageError: the database fails.
        """
        return await io_thread.run(self._of(rows))

    async def drop(self, user_id: str) -> None:
        """Hold nothing of a user any more; another process notices by the number of removals."""

        async def work() -> None:
            for key in [key for key in self._held if key[0] == user_id]:
                del self._held[key]
            self._forget()

        await io_thread.run(work())

    async def _of(self, rows: UserRows) -> Known:
        key = (rows.user_id, self._model())
        held = self._held.setdefault(key, _Held())
        async with held.lock:
            standing, changes = await changes_since(rows, key[1], held.horizon)
            if held.removals not in {None, standing.removals}:
                held.memory, held.horizon = UserMemory(), ALL
                self._forget()
                standing, changes = await changes_since(rows, key[1], ALL)
            held.removals = standing.removals  # at once: what is deleted after reading broke off is noticed
            async with aclosing(changes):
                async for part in changes:
                    await _take(held.memory, part)
            held.horizon = standing.horizon
        self._held[key] = held  # its size has changed
        return Known(held.memory, standing.without_terms, standing.without_vectors)


async def _take(memory: UserMemory, changes: Changes) -> None:
    """Add what changed: at once where it takes less time than to hand it to a thread, and nobody searches."""
    few = len(changes.messages) + len(changes.vectors) <= _FEW_CHANGES and len(memory) <= _SMALL
    if few and memory.lock.acquire(blocking=False):
        try:
            _add(memory, changes)
        finally:
            memory.lock.release()
    else:
        await asyncio.to_thread(_add_locked, memory, changes)


def _add_locked(memory: UserMemory, changes: Changes) -> None:
    with memory.lock:
        _add(memory, changes)


def _add(memory: UserMemory, changes: Changes) -> None:
    memory.add_messages(changes.messages)
    memory.add_vectors(changes.vectors)
