"""A changed embedding model: how it is noticed, and how everything is re-embedded.

Vectors of one model say nothing about those of another. Those of the old one stay until all have new ones, so that a
process which still runs with the old model finds what it found before.
"""

from __future__ import annotations

from collections.abc import Callable

from ..models.embeddings import Embedder
from ..storage.user_rows import UserRows
from .bulk_embedding import BulkEmbedding


class Reindex:
    """Embeds everything of a user whose vectors are not of the current model, and what has none.

    It may be killed at any time: run again, it goes on where it was.

    Args:
        rows: the user's.
        embedder: the current model.
        timeout: seconds the model may take for a batch of 32 texts, loading included.
        advance: called with the number of messages and summaries done since the last call.
    """

    def __init__(
        self,
        rows: UserRows,
        embedder: Embedder,
        *,
        timeout: float,
        advance: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._rows = rows
        self._embedder = embedder
        self._timeout = timeout
        self._bulk = BulkEmbedding(rows, embedder, which="stale", timeout=timeout, advance=advance)

    async def start(self) -> int:
        """Look for what is to be done; returns how many messages and summaries that is.

        Raises:
            EmbeddingError: the model cannot be loaded, fails, or is too slow.
            StorageError: the database fails.
        """
        values = {"model": self._embedder.name, "dimensions": await self._size()}
        await self._rows.transaction(("reindex.forget_messages", values), ("reindex.forget_summaries", values))
        return await self._bulk.count()

    async def run(self) -> int:
        """Embed it, and remove vectors that are of no use any more; returns how many messages and summaries were done.

        Raises:
            EmbeddingError: the model fails or is too slow; what was done stays done.
            StorageError: the database fails.
        """
        done = await self._bulk.run()
        await self._rows.fetch("reindex.remove_strays", model=self._embedder.name, dimensions=await self._size())
        return done

    async def _size(self) -> int:
        return len(await self._embedder.query("dimensions", timeout=self._timeout))
