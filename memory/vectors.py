"""`VectorIndex`: the vectors of messages and summaries, written in batches and searched for one user.

A long message has several vectors, one a chunk, so that its end can be found as well; a hit on a chunk is a hit on
its message. The table has the columns of a langchain-postgres vector store, so that other LangChain code can read it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from psycopg.rows import DictRow

from ..models.embeddings import Embedder
from ..models.similarity import calibrated
from ..state.errors import EmbeddingError
from ..storage.loop_thread import io_thread
from ..storage.storage import Storage
from ..storage.user_rows import UserRows
from ..storage.vector_rows import MAX_DIMENSIONS, chunks, write_vectors
from .changed_model import changed_model
from .recall_cache import RecallCache
from .user_memory import Near, UserMemory, View

logger = logging.getLogger(__name__)

BATCH: Final = 64
"""Messages that are embedded at once."""

_TRIES: Final = 3
"""Messages that are tried one by one before a failure is taken for the model's and not for one of them."""

_REMEMBERED: Final = 10_000
"""Users, and messages that cannot be embedded, that are remembered."""

Lookup = Callable[[UserMemory, View], Near]
"""Finds what is near in a user's memory; to be called with its lock held."""


class VectorIndex:
    """Vectors in Postgres, beside the archive whose rows they belong to.

    Args:
        database: where they are kept.
        embedder: the model that makes them.
        memories: the users' memories, in which is searched.
    """

    def __init__(self, database: Storage, embedder: Embedder, memories: RecallCache) -> None:
        self.memories = memories
        self._database = database
        self._embedder = embedder
        self._refused: dict[tuple[str, str], None] = {}
        self._unchanged: set[str] = set()
        self._embedding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def embed_pending(self, user_id: str, *, timeout: float, limit: int = BATCH) -> int:
        """Embed what of the user's has no vector yet, the newest first; returns how many were done.

        A text that the model refuses does not keep others from being embedded: it is left out until the next start,
        and found by its words.

        Args:
            user_id: whose.
            timeout: seconds for the embedding model.
            limit: messages, and as many summaries.

        Raises:
            EmbeddingError: the model fails or is too slow; what is pending stays pending.
        """
        return await io_thread.run(self._embed_alone(user_id, timeout, limit))

    async def _embed_alone(self, user_id: str, timeout: float, limit: int) -> int:
        """Two at once would embed the same."""
        async with self._embedding.setdefault(user_id, asyncio.Lock()):
            return await self._embed_pending(user_id, timeout, limit)

    async def _embed_pending(self, user_id: str, timeout: float, limit: int) -> int:
        rows = UserRows(self._database, user_id)
        refused = [place for owner, place in self._refused if owner == user_id]
        pending = await rows.fetch("vectors.pending", limit=limit, refused=refused)
        if not pending:
            return 0
        try:
            await self._embed(rows, pending, timeout)
        except EmbeddingError:
            if len(pending) == 1:
                raise
            return await self._one_by_one(rows, pending, timeout)
        return len(pending)

    def may_have_pending(self, user_id: str, *, without_vectors: bool) -> bool:
        """Whether `embed_pending` may find something, where the archive has or has not something without vectors."""
        return without_vectors

    def expect(self, question: str) -> None:
        """Begin to embed a question that `lookup` will ask for, while other work is done."""
        self._embedder.expect(question)

    async def lookup(
        self, user_id: str, question: str, *, limit: int, thread_only: str | None = None, timeout: float
    ) -> Lookup:
        """What finds the user's messages and summaries nearest to the question in their memory.

        Every vector of the user is compared (an exact scan, of any number of dimensions), so a filter never loses a
        hit. Of a message with several chunks the best counts.

        Args:
            user_id: whose memory.
            question: any text.
            limit: messages and summaries, at most.
            thread_only: this thread alone; None searches all.
            timeout: seconds for the embedding model.

        Raises:
            EmbeddingError: the model fails or is too slow.
        """
        vector = await self._embedder.query(question, timeout=timeout)
        return lambda memory, view: on_scale(memory.near(view, vector, limit), self._embedder.level)

    async def passages(
        self, user_id: str, question: str, sources: Sequence[tuple[str, str]], *, timeout: float
    ) -> dict[tuple[str, str], str]:
        """Of long messages, by thread and id, the chunk that is nearest to the question.

        Args:
            user_id: whose memory.
            question: the question they were found for.
            sources: thread and id of the messages.
            timeout: seconds for the embedding model.

        Raises:
            EmbeddingError: the model fails or is too slow.
        """
        vector = await self._embedder.query(question, timeout=timeout)
        found = await UserRows(self._database, user_id).fetch(
            "vectors.passages",
            query=_literal(vector),
            dimensions=len(vector),
            model=self._embedder.name,
            threads=[thread for thread, _ in sources],
            ids=[id_ for _, id_ in sources],
        )
        return {(row["thread_id"], row["source_id"]): row["content"] for row in found}

    async def forget(self, user_id: str, threads: Sequence[str], *, timeout: float) -> None:
        """Delete what is kept elsewhere of these threads: nothing, for our own table is emptied with the archive."""

    async def notice(self, user_id: str, *, timeout: float) -> str | None:
        """One sentence where a part of the user's memory cannot be searched by meaning; else None.

        That is so where the vectors are of another embedding model, or of another size, than those made now.

        Raises:
            StorageError: the database fails.
        """
        if user_id in self._unchanged:
            return None
        changed = await changed_model(
            self._database, self._embedder, user_id, timeout=timeout, wait=self._embedder.ready
        )
        if changed is not None:
            return str(changed)
        if self._embedder.ready and len(self._unchanged) < _REMEMBERED:
            self._unchanged.add(user_id)
        return None

    async def _embed(self, rows: UserRows, pending: Sequence[DictRow], timeout: float) -> None:
        texts = await asyncio.to_thread(lambda: [chunks(row) for row in pending])
        vectors = await self._embedder.documents([text for parts in texts for text in parts], timeout=timeout)
        if vectors and (dimensions := max(map(len, vectors))) > MAX_DIMENSIONS:
            raise EmbeddingError(
                f"The embedding model {self._embedder.name!r} makes vectors of {dimensions} dimensions: expected "
                f"{MAX_DIMENSIONS} at most. Choose another EVERTHREAD_EMBEDDING_MODEL."
            )
        await write_vectors(rows, self._embedder.name, pending, texts, vectors)

    async def _one_by_one(self, rows: UserRows, pending: Sequence[DictRow], timeout: float) -> int:
        done = 0
        failed: list[DictRow] = []
        for row in pending:
            try:
                await self._embed(rows, [row], timeout)
                done += 1
            except EmbeddingError:
                failed.append(row)
                if not done and len(failed) == min(_TRIES, len(pending)):
                    raise
        for row in failed[: _REMEMBERED - len(self._refused)]:
            self._refused[rows.user_id, f"{row['thread_id']}/{row['id']}"] = None
        logger.warning("%d messages cannot be embedded: they are found by their words only.", len(failed))
        return done


def _literal(vector: Sequence[float]) -> str:
    return "[" + ",".join(map(repr, map(float, vector))) + "]"


def on_scale(near: Near, level: float) -> Near:
    """The same with cosines on the scale of the default model."""
    of_summaries = calibrated(np.array([cosine for _, cosine in near.summaries]), level)
    summaries = [(source, float(cosine)) for (source, _), cosine in zip(near.summaries, of_summaries, strict=True)]
    return Near(calibrated(near.messages, level), summaries)
