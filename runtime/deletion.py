"""`Deletion`: what a user wants gone is gone at once and as a whole, with all that was made from it.

Compression never deletes; this is for the user who asks for it. What else writes for the same user waits, and writes
nothing about what is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

from ..facts.release import release_facts
from ..memory.vectors import VectorIndex
from ..state.errors import InputError
from ..state.records import Deleted
from ..storage.postgres.thread_lock import ThreadLocks
from ..storage.user_rows import Exchange, UserRows

_DELETE: Final = (
    "deletion.vectors",
    "deletion.facts",
    "deletion.pins",
    "deletion.turn_reports",
    "deletion.summary_versions",
    "deletion.summaries",
    "deletion.messages",
    "deletion.checkpoint_writes",
    "deletion.checkpoint_blobs",
    "deletion.checkpoints",
    "deletion.own_threads",
    "search_cache.forget",
)


class Deletion:
    """Deletes threads of one user with their messages, summaries, vectors, facts, pins, reports and checkpoints.

    Args:
        rows: the user's.
        vectors: the user's vector arm, which may keep its vectors elsewhere.
        locks: those of the open graph; turns that run are waited for.
    """

    def __init__(self, rows: UserRows, vectors: VectorIndex, locks: ThreadLocks) -> None:
        self._rows = rows
        self._vectors = vectors
        self._locks = locks

    async def threads(self, thread_id: str | None = None) -> list[str]:
        """The ids of the threads that would be deleted.

        Raises:
            InputError: the user has no such thread.
            StorageError: the database fails.
        """
        rows = await self._rows.fetch("deletion.threads", thread_id=thread_id)
        if thread_id is not None and not rows:
            raise InputError(f"There is no thread {thread_id!r} of this user: `everthread threads` lists them.")
        return [row["thread_id"] for row in rows]

    async def delete(self, thread_id: str | None = None, *, timeout: float = 60) -> Deleted:
        """Delete a thread, or all of the user's; either all of it is gone, or nothing.

        Args:
            thread_id: the only thread; None for all.
            timeout: seconds for a vector store of one's own.

        Raises:
            InputError: the user has no such thread.
            EmbeddingError: the vector store of one's own fails; nothing was deleted.
            StorageError: the database fails, and nothing was deleted; or a turn runs for longer than ten minutes.
        """
        threads = await self.threads(thread_id)
        async with AsyncExitStack() as running:
            for thread in threads:  # in one order everywhere, so that two deletions do not wait for each other
                await running.enter_async_context(self._locks.hold(thread))
            await self._vectors.forget(threads, timeout=timeout)
            return await self._rows.exclusive(lambda exchange: _delete(exchange, threads))


async def _delete(rows: Exchange, threads: Sequence[str]) -> Deleted:
    counts: dict[str, Any] = (await rows.fetch("deletion.counts", threads=list(threads)))[0]
    await release_facts(rows, threads)
    for query in _DELETE:
        await rows.fetch(query, threads=list(threads))
    return Deleted(threads=len(threads), **counts)
