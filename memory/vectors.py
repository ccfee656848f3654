"""`VectorIndex`: the vectors of messages and summaries, written in batches and searched for one user.

A long message has several vectors, one a chunk, so that its end can be found as well; a hit on a chunk is a hit on
its message. The table has the columns of a langchain-postgres vector store, so that other LangChain code can read it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from ..models.embeddings import Embedder
from ..models.similarity import Scale, calibrated, in_language
from ..state.errors import EmbeddingError
from ..storage.loop_thread import io_thread
from ..storage.user_rows import UserRows
from ..storage.values import Row
from ..storage.vector_rows import MAX_DIMENSIONS, chunks, write_vectors
from ..text.language import language_of
from .changed_model import changed_model
from .user_memory import Near, UserMemory, View

logger = logging.getLogger(__name__)

BATCH: Final = 64
"""Messages that are embedded at once."""

_TRIES: Final = 3
"""Messages that are tried one by one before a failure is taken for the model's and not for one of them."""

_REMEMBERED: Final = 10_000
"""Messages of a user that cannot be embedded that are remembered."""

Lookup = Callable[[UserMemory, View], Near]
"""Finds what is near in a user's memory; to be called with its lock held."""


class NearSource(NamedTuple):
    """A message or summary with its cosine in [-1, 1]."""

    source_type: str
    thread_id: str
    source_id: str
    cosine: float


class VectorIndex:
    """The vectors of one user in Postgres, beside the archive whose rows they belong to.

    Args:
        rows: the user's.
        embedder: the model that makes them.
    """

    elsewhere = False
    """Whether they are in a store of one's own."""

    def __init__(self, rows: UserRows, embedder: Embedder) -> None:
        self._rows = rows
        self._embedder = embedder
        self._refused: list[str] = []
        self._is_unchanged = False
        self._embedding = asyncio.Lock()

    async def embed_pending(self, *, timeout: float, limit: int = BATCH) -> int:
        """Embed what has no vector yet, the newest first; returns how many were done.

        A text that the model refuses does not keep others from being embedded: it is left out until the next start,
        and found by its words.

        Args:
            timeout: seconds for the embedding model.
            limit: messages, and as many summaries.

        Raises:
            EmbeddingError: the model fails or is too slow; what is pending stays pending.
        """
        return await io_thread.run(self._embed_alone(timeout, limit))

    async def _embed_alone(self, timeout: float, limit: int) -> int:
        """Two at once would embed the same."""
        async with self._embedding:
            return await self._embed_pending(timeout, limit)

    async def _embed_pending(self, timeout: float, limit: int) -> int:
        pending = await self._rows.fetch("vectors.pending", limit=limit, refused=self._refused)
        if not pending:
            return 0
        try:
            await self._embed(pending, timeout)
        except EmbeddingError:
            if len(pending) == 1:
                raise
            return await self._one_by_one(pending, timeout)
        return len(pending)

    def may_have_pending(self, *, without_vectors: bool) -> bool:
        """Whether `embed_pending` may find something, where the archive has or has not something without vectors."""
        return without_vectors

    def expect(self, question: str) -> None:
        """Begin to embed a question that `lookup` will ask for, while other work is done."""
        self._embedder.expect(question, self._rows.user_id)

    async def lookup(self, question: str, *, limit: int, thread_only: str | None = None, timeout: float) -> Lookup:
        """What finds the messages and summaries nearest to the question in the user's memory.

        Every vector is compared (an exact scan, of any number of dimensions), so a filter never loses a
        hit. Of a message with several chunks the best counts.

        Args:
            question: any text.
            limit: messages and summaries, at most.
            thread_only: this thread alone; None searches all.
            timeout: seconds for the embedding model.

        Raises:
            EmbeddingError: the model fails or is too slow.
        """
        vector = await self._embedder.query(question, timeout=timeout, user_id=self._rows.user_id)
        return lambda memory, view: on_scale(memory.near(view, vector, limit), self._embedder.scale, question)

    async def passages(
        self, question: str, sources: Sequence[tuple[str, str]], *, timeout: float
    ) -> dict[tuple[str, str], str]:
        """Of long messages, by thread and id, the chunk that is nearest to the question.

        Args:
            question: the question they were found for.
            sources: thread and id of the messages.
            timeout: seconds for the embedding model.

        Raises:
            EmbeddingError: the model fails or is too slow.
        """
        vector = await self._embedder.query(question, timeout=timeout, user_id=self._rows.user_id)
        found = await self._rows.fetch(
            "vectors.passages",
            query=_literal(vector),
            dimensions=len(vector),
            model=self._embedder.name,
            threads=[thread for thread, _ in sources],
            ids=[id_ for _, id_ in sources],
        )
        return {(row["thread_id"], row["source_id"]): row["content"] for row in found}

    async def forget(self, threads: Sequence[str], *, ids: Sequence[str] | None = None, timeout: float) -> None:
        """Delete what is kept elsewhere of these threads, or of these messages and summaries in them.

        That is nothing here, for our own table is emptied with the archive.
        """

    async def notice(self, *, timeout: float) -> str | None:
        """One sentence where a part of the user's memory cannot be searched by meaning; else None.

        That is so where the vectors are of another embedding model, or of another size, than those made now.

        Raises:
            StorageError: the database fails.
        """
        if self._is_unchanged:
            return None
        wait = self._embedder.ready
        changed = await changed_model(self._rows, self._embedder, timeout=timeout, wait=wait)
        self._is_unchanged = wait and changed is None
        return None if changed is None else str(changed)

    async def _embed(self, pending: Sequence[Row], timeout: float) -> None:
        texts = await asyncio.to_thread(lambda: [chunks(row) for row in pending])
        flat = [text for parts in texts for text in parts]
        vectors = await self._embedder.documents(flat, timeout=timeout, user_id=self._rows.user_id)
        if vectors and (dimensions := max(map(len, vectors))) > MAX_DIMENSIONS:
            raise EmbeddingError(
                f"The embedding model {self._embedder.name!r} makes vectors of {dimensions} dimensions: expected "
                f"{MAX_DIMENSIONS} at most. Choose another EVERTHREAD_EMBEDDING_MODEL."
            )
        await write_vectors(self._rows, self._embedder.name, pending, texts, vectors)

    async def _one_by_one(self, pending: Sequence[Row], timeout: float) -> int:
        done = 0
        failed: list[Row] = []
        for row in pending:
            try:
                await self._embed([row], timeout)
                done += 1
            except EmbeddingError:
                failed.append(row)
                if not done and len(failed) == min(_TRIES, len(pending)):
                    raise
        left = _REMEMBERED - len(self._refused)
        self._refused += [f"{row['thread_id']}/{row['id']}" for row in failed[:left]]
        logger.warning("%d messages cannot be embedded: they are found by their words only.", len(failed))
        return done


def _literal(vector: Sequence[float]) -> str:
    return "[" + ",".join(map(repr, map(float, vector))) + "]"


def on_scale(near: Near, scale: Scale, question: str) -> Near:
    """The same with cosines on the scale of the default model."""
    scale = in_language(scale, language_of(question))
    of_summaries = calibrated(np.array([cosine for _, cosine in near.summaries]), scale)
    summaries = [(source, float(cosine)) for (source, _), cosine in zip(near.summaries, of_summaries, strict=True)]
    return Near(calibrated(near.messages, scale), summaries)


def nearest_in(memory: UserMemory, found: Lookup, thread_only: str | None) -> list[NearSource]:
    """What was found in a memory, the best first."""
    with memory.lock:
        messages, summaries = found(memory, memory.view(thread_only))
        near = [NearSource("message", *memory.ids[n], float(messages[n])) for n in np.flatnonzero(~np.isnan(messages))]
    near += [NearSource("summary", source.thread_id, source.id, cosine) for source, cosine in summaries]
    return sorted(near, key=lambda source: (-source.cosine, source.source_id))
