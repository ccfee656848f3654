"""`VectorIndex`: the vectors of messages and summaries, written in batches and searched for one user.

A long message has several vectors, one a chunk, so that its end can be found as well; a hit on a chunk is a hit on
its message. The table has the columns of a langchain-postgres vector store, so that other LangChain code can read it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from psycopg.rows import DictRow

from ..models.embeddings import Embedder
from ..state.errors import EmbeddingError
from .database import Database
from .user_rows import UserRows
from .vector_rows import chunks, write_vectors

BATCH: Final = 64
"""Messages that are embedded at once."""

_PENDING = """
(SELECT 'message' AS source_type, thread_id, id, role, name, text, created_at, embedded_with FROM messages
 WHERE user_id = %(user_id)s AND embedded_with IS NULL ORDER BY created_at DESC LIMIT %(limit)s)
UNION ALL
(SELECT 'summary', thread_id, id, 'assistant', NULL, content, created_at, embedded_with FROM summaries
 WHERE user_id = %(user_id)s AND embedded_with IS NULL LIMIT %(limit)s)
"""
_SEARCH = """
SELECT c.source_type, c.source_id, c.thread_id, m.seq, c.role, c.created_at, c.cosine
FROM (
    SELECT source_type, source_id, thread_id, role, created_at,
           max(1 - (embedding <=> %(query)s::public.vector)) AS cosine
    FROM vectors
    WHERE user_id = %(user_id)s AND model = %(model)s
      AND (%(thread_only)s::text IS NULL OR thread_id = %(thread_only)s)
    GROUP BY source_type, source_id, thread_id, role, created_at
    ORDER BY cosine DESC LIMIT %(limit)s
) AS c
LEFT JOIN messages AS m
  ON m.user_id = %(user_id)s AND m.thread_id = c.thread_id AND m.id = c.source_id AND c.source_type = 'message'
ORDER BY c.cosine DESC, c.source_id
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

    async def embed_pending(self, user_id: str, *, timeout: float, limit: int = BATCH) -> int:
        """Embed what of the user's has no vector yet, the newest first; returns how many were done.

        Args:
            user_id: whose.
            timeout: seconds for the embedding model.
            limit: messages, and as many summaries.

        Raises:
            EmbeddingError: the model fails or is too slow; what is pending stays pending.
        """
        rows = UserRows(self._database, user_id)
        pending = await rows.fetch(_PENDING, limit=limit)
        if not pending:
            return 0
        texts = await asyncio.to_thread(lambda: [chunks(row) for row in pending])
        wanted = [text for parts in texts for text in parts]
        vectors = await self._embedder.documents(wanted, timeout=timeout)
        if len(vectors) != len(wanted):
            raise EmbeddingError(
                f"The embedding model {self._embedder.name!r} returned {len(vectors)} vectors for {len(wanted)} texts: "
                "expected one each. Choose another EVERTHREAD_EMBEDDING_MODEL."
            )
        await write_vectors(rows, self._embedder.name, pending, texts, vectors)
        return len(pending)

    async def nearest(
        self, user_id: str, question: str, *, limit: int, thread_only: str | None = None, timeout: float
    ) -> list[DictRow]:
        """The user's messages and summaries nearest to the question: rows with `cosine` in [-1, 1], the best first.

        Every vector of the user is compared (an exact scan of that user's rows), so a filter never loses a hit. Of a
        message with several chunks the best counts. `seq` is None for a summary.

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
            _SEARCH, query=_literal(vector), model=self._embedder.name, thread_only=thread_only, limit=limit
        )


def _literal(vector: Sequence[float]) -> str:
    return "[" + ",".join(map(repr, map(float, vector))) + "]"
