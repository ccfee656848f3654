"""`RecallCache`: the memories of the users that were here last, held by this process and brought up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from math import inf
from typing import Final, NamedTuple

from cachetools import LRUCache

from ..storage.loop_thread import io_thread
from ..storage.memory_changes import ALL, FIRST, Changes, Parts, changes_since
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
        is_whole: whether it is all of it, and not the newest part.
    """

    memory: UserMemory
    without_terms: bool
    without_vectors: bool
    is_whole: bool = True


class _Held:
    """The memory of one user, and up to where it was read.

    Attributes:
        rest: reads all of it, while the newest part is searched.
    """

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.rest: asyncio.Task[tuple[UserMemory, str]] | None = None
        self.begin()

    def begin(self) -> None:
        """Hold nothing."""
        if self.rest is not None:
            self.rest.cancel()
        self.memory, self.horizon, self.rest = UserMemory(), ALL, None
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

    async def of(self, rows: UserRows, *, in_part: bool = False) -> Known:
        """The memory of the user of these rows, with all that was committed before.

        Args:
            rows: the user's.
            in_part: whether of a large one, which is read for the first time, the newest part will do.

        Raises:
            StorageError: the database fails.
        """
        return await io_thread.run(self._of(rows, in_part=in_part))

    async def drop(self, user_id: str) -> None:
        """Hold nothing of a user any more; another process notices by the number of removals."""

        async def work() -> None:
            for key in [key for key in self._held if key[0] == user_id]:
                self._held.pop(key).begin()
            self._forget()

        await io_thread.run(work())

    async def close(self) -> None:
        """Read no more of what is being read."""

        async def work() -> None:
            rest = [held.rest for held in self._held.values() if held.rest is not None]
            for reading in rest:
                reading.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        await io_thread.run(work())

    async def _of(self, rows: UserRows, *, in_part: bool) -> Known:
        key = (rows.user_id, self._model())
        held = self._held.setdefault(key, _Held())
        while True:
            async with held.lock:
                known = await self._newest(held, rows, key[1])
                rest = held.rest
            self._held[key] = held  # its size has changed
            if rest is None or in_part:
                return known
            await asyncio.wait({rest})

    async def _newest(self, held: _Held, rows: UserRows, model: str) -> Known:
        """The memory, brought up to date: all of it, or the newest part, beside which all is read."""
        if held.rest is not None and held.rest.done():
            rest = held.rest
            if rest.cancelled() or rest.exception() is not None:
                held.begin()
            if not rest.cancelled():
                held.memory, held.horizon = rest.result()
            held.rest = None
        standing, changes = await changes_since(rows, model, held.horizon, FIRST if held.horizon == ALL else inf)
        if held.removals not in {None, standing.removals}:
            held.begin()
            self._forget()
            standing, changes = await changes_since(rows, model, ALL, FIRST)
        held.removals = standing.removals  # at once: what is deleted after reading broke off is noticed
        if await _read(held.memory, changes):
            held.rest = asyncio.create_task(_whole(rows, model))
            held.rest.add_done_callback(lambda done: done.cancelled() or done.exception())
        held.horizon = standing.horizon
        return Known(held.memory, standing.without_terms, standing.without_vectors, held.rest is None)


async def _whole(rows: UserRows, model: str) -> tuple[UserMemory, str]:
    """A user's memory, and up to where it was read."""
    memory = UserMemory()
    standing, changes = await changes_since(rows, model, ALL)
    await _read(memory, changes)
    await asyncio.to_thread(memory.prepare)  # nobody searches it yet
    return memory, standing.horizon


async def _read(memory: UserMemory, changes: Parts) -> bool:
    """Add what changed; whether there is more."""
    is_cut = False
    async with aclosing(changes):
        async for part in changes:
            await _take(memory, part)
            is_cut |= part.is_cut
    return is_cut


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
