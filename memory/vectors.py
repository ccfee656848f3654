"""`VectorIndex`: the vectors of messages and summaries, written in batches and searched for one user.

A long message has several vectors, one a chunk, so that its end can be found as well; a hit on a chunk is a hit on
its message. The table has the columns of a langchain-postgres vector store, so that other LangChain code can read it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from psycopg.rows import DictRow

from ..models.embeddings import Embedder
from ..state.errors import EmbeddingError
from .database import Database
from .reindex import changed_model
from .user_rows import UserRows
from .vector_rows import MAX_DIMENSIONS, chunks, write_vectors

logger = logging.getLogger(__name__)

BATCH: Final = 64
"""Messages that are embedded at once."""

_TRIES: Final = 3
"""Messages that are tried one by one before a failure is taken for the model's and not for one of them."""

_REMEMBERED: Final = 10_000
"""Users, and messages that cannot be embedded, that are remembered."""

_PENDING = """
(SELECT 'message' AS source_type, thread_id, id, role, name, text, created_at, embedded_with FROM messages
 WHERE user_id = %(user_id)s AND embedded_with IS NULL AND id <> ALL(%(refused)s)
 ORDER BY created_at DESC LIMIT %(limit)s)
UNION ALL
(SELECT 'summary', thread_id, id, 'assistant', NULL, content, created_at, embedded_with FROM summaries
 WHERE user_id = %(user_id)s AND embedded_with IS NULL AND id <> ALL(%(refused)s) LIMIT %(limit)s)
"""
# The cosine of a vector of zeros is NaN, which sorts above all numbers; vectors of another size cannot be compared.
# OFFSET 0 has the cosines computed before the rows are grouped: else whole vectors are sorted, on disk.
_SEARCH = """
SELECT c.source_type, c.source_id, c.thread_id, m.seq, c.role, c.created_at, c.cosine
FROM (
    SELECT * FROM (
        SELECT source_type, source_id, thread_id, role, created_at, max(cosine) AS cosine
        FROM (
            SELECT source_type, source_id, thread_id, role, created_at,
                   CASE WHEN public.vector_dims(embedding) = %(dimensions)s
                        THEN nullif(1 - (embedding <=> %(query)s::public.vector), 'NaN'::float8) END AS cosine
            FROM vectors
            WHERE user_id = %(user_id)s AND model = %(model)s
              AND (%(thread_only)s::text IS NULL OR thread_id = %(thread_only)s)
            OFFSET 0
        ) AS each
        GROUP BY source_type, source_id, thread_id, role, created_at
    ) AS compared
    WHERE cosine IS NOT NULL ORDER BY cosine DESC LIMIT %(limit)s
) AS c
LEFT JOIN messages AS m
  ON m.user_id = %(user_id)s AND m.thread_id = c.thread_id AND m.id = c.source_id AND c.source_type = 'message'
WHERE c.source_type = 'summary' OR m.seq IS NOT NULL
ORDER BY c.cosine DESC, c.source_id
"""
_PASSAGES = """
SELECT DISTINCT ON (v.thread_id, v.source_id) v.thread_id, v.source_id, v.content
FROM unnest(%(threads)s::text[], %(ids)s::text[]) AS wanted(thread_id, id)
JOIN vectors AS v ON v.user_id = %(user_id)s AND v.model = %(model)s AND v.thread_id = wanted.thread_id
                 AND v.source_id = wanted.id AND public.vector_dims(v.embedding) = %(dimensions)s
ORDER BY v.thread_id, v.source_id, v.embedding <=> %(query)s::public.vector
"""


class VectorIndex:
    """Vectors in Postgres, beside the archive whose rows they belong to.

    Args:
        database: where they are kept.
        embedder: the model that makes them.
    """

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder
        self._refused: dict[tuple[str, str], None] = {}
        self._unchanged: set[str] = set()

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
        rows = UserRows(self._database, user_id)
        refused = [id_ for owner, id_ in self._refused if owner == user_id]
        pending = await rows.fetch(_PENDING, limit=limit, refused=refused)
        if not pending:
            return 0
        try:
            await self._embed(rows, pending, timeout)
        except EmbeddingError:
            if len(pending) == 1:
                raise
            return await self._one_by_one(rows, pending, timeout)
        return len(pending)

    async def nearest(
        self, user_id: str, question: str, *, limit: int, thread_only: str | None = None, timeout: float
    ) -> list[DictRow]:
        """The user's messages and summaries nearest to the question: rows with `cosine` in [-1, 1], the best first.

        Every vector of the user is compared (an exact scan of that user's rows, of any number of dimensions), so a
        filter never loses a hit. Of a message with several chunks the best counts. `seq` is None for a summary.

        Args:
            user_id: whose memory.
            question: any text.
            limit: rows, at most.
            thread_only: this thread alone; None searches all.
            timeout: seconds for the embedding model.

        Raises:
            EmbeddingError: the model fails or is too slow.
        """
        vector = await self._embedder.query(question, timeout=timeout)
        return await UserRows(self._database, user_id).fetch(
            _SEARCH,
            query=_literal(vector),
            dimensions=len(vector),
            model=self._embedder.name,
            thread_only=thread_only,
            limit=limit,
        )

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
            _PASSAGES,
            query=_literal(vector),
            dimensions=len(vector),
            model=self._embedder.name,
            threads=[thread for thread, _ in sources],
            ids=[id_ for _, id_ in sources],
        )
        return {(row["thread_id"], row["source_id"]): row["content"] for row in found}

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
            self._refused[rows.user_id, row["id"]] = None
        logger.warning("%d messages cannot be embedded: they are found by their words only.", len(failed))
        return done


def _literal(vector: Sequence[float]) -> str:
    return "[" + ",".join(map(repr, map(float, vector))) + "]"
