"""`VectorIndex`: the vectors of messages and summaries, written in batches and searched for one user.

A long message has several vectors, one a chunk, so that its end can be found as well; a hit on a chunk is a hit on
its message. The table has the columns of a langchain-postgres vector store: see `vector_store`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any, Final

from langchain_text_splitters import RecursiveCharacterTextSplitter
from psycopg.rows import DictRow

from ..models.embeddings import Embedder
from ..state.errors import EmbeddingError
from ..state.records import EVERTHREAD_NAMESPACE
from .database import Database
from .user_rows import UserRows

BATCH: Final = 64
"""Messages that are embedded at once."""

CHUNK_CHARACTERS: Final = 800
"""Characters in one vector: about the 256 tokens that the default embedding model reads."""

MAX_CHARACTERS: Final = 80_000
"""Characters of one message that are embedded; of a longer one, half as many from its start and its end."""

_PENDING = """
(SELECT 'message' AS source_type, thread_id, id, role, name, text, created_at FROM messages
 WHERE user_id = %(user_id)s AND embedded_with IS NULL ORDER BY created_at DESC LIMIT %(limit)s)
UNION ALL
(SELECT 'summary', thread_id, id, 'assistant', NULL, content, created_at FROM summaries
 WHERE user_id = %(user_id)s AND embedded_with IS NULL LIMIT %(limit)s)
"""
_ADD = """
INSERT INTO vectors (langchain_id, content, embedding, langchain_metadata, user_id, thread_id, source_type, source_id,
                     role, model, created_at)
SELECT new.id, new.content, new.embedding::public.vector, new.metadata, %(user_id)s, new.thread_id, new.source_type,
       new.source_id, new.role, %(model)s, new.created_at
FROM unnest(%(ids)s::uuid[], %(contents)s::text[], %(embeddings)s::text[], %(metadata)s::json[], %(thread_ids)s::text[],
            %(source_types)s::text[], %(source_ids)s::text[], %(roles)s::text[], %(created)s::timestamptz[])
     AS new(id, content, embedding, metadata, thread_id, source_type, source_id, role, created_at)
ON CONFLICT (langchain_id) DO NOTHING
"""
_DONE_MESSAGES = """
UPDATE messages SET embedded_with = %(model)s FROM unnest(%(thread_ids)s::text[], %(source_ids)s::text[]) AS done(t, i)
WHERE user_id = %(user_id)s AND thread_id = done.t AND id = done.i
"""
_DONE_SUMMARIES = """
UPDATE summaries SET embedded_with = %(model)s FROM unnest(%(thread_ids)s::text[], %(source_ids)s::text[]) AS done(t, i)
WHERE user_id = %(user_id)s AND thread_id = done.t AND id = done.i
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
        self._splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK_CHARACTERS, chunk_overlap=80)

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
        chunks = [(row, place, text) for row in pending for place, text in enumerate(self._chunks(row))]
        vectors = await self._embedder.documents([text for _, _, text in chunks], timeout=timeout)
        await rows.transaction(
            (_ADD, self._columns(user_id, chunks, vectors)),
            (_DONE_MESSAGES, self._done(pending, "message")),
            (_DONE_SUMMARIES, self._done(pending, "summary")),
        )
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

    def _chunks(self, row: DictRow) -> list[str]:
        text = row["text"].strip()
        if not text:
            return []
        lead = f"{row['name']}: " if row["name"] else ""
        if len(text) > MAX_CHARACTERS:
            text = f"{text[: MAX_CHARACTERS // 2]}\n{text[-MAX_CHARACTERS // 2 :]}"
        return [lead + chunk for chunk in self._splitter.split_text(text)] or [lead + text[:CHUNK_CHARACTERS]]

    def _columns(
        self, user_id: str, chunks: Sequence[tuple[DictRow, int, str]], vectors: Sequence[Sequence[float]]
    ) -> dict[str, Any]:
        if len(vectors) != len(chunks):
            raise EmbeddingError(
                f"The embedding model {self._embedder.name!r} returned {len(vectors)} vectors for {len(chunks)} texts: "
                "expected one each. Choose another EVERTHREAD_EMBEDDING_MODEL."
            )
        return {
            "model": self._embedder.name,
            "ids": [self._vector_id(user_id, row, place) for row, place, _ in chunks],
            "contents": [text for _, _, text in chunks],
            "embeddings": [_literal(vector) for vector in vectors],
            "metadata": [_metadata(row) for row, _, _ in chunks],
            "thread_ids": [row["thread_id"] for row, _, _ in chunks],
            "source_types": [row["source_type"] for row, _, _ in chunks],
            "source_ids": [row["id"] for row, _, _ in chunks],
            "roles": [row["role"] for row, _, _ in chunks],
            "created": [row["created_at"] for row, _, _ in chunks],
        }

    def _done(self, pending: Sequence[DictRow], source_type: str) -> dict[str, Any]:
        rows = [row for row in pending if row["source_type"] == source_type]
        return {
            "model": self._embedder.name,
            "thread_ids": [row["thread_id"] for row in rows],
            "source_ids": [row["id"] for row in rows],
        }

    def _vector_id(self, user_id: str, row: DictRow, place: int) -> uuid.UUID:
        key = [user_id, row["thread_id"], row["source_type"], row["id"], self._embedder.name, str(place)]
        return uuid.uuid5(EVERTHREAD_NAMESPACE, "\x1f".join(key))


def _literal(vector: Sequence[float]) -> str:
    return "[" + ",".join(map(repr, map(float, vector))) + "]"


def _metadata(row: DictRow) -> str:
    """The seed's metadata (`000`, "Embedding Generation"): source type, role, conversation, creation time."""
    return json.dumps(
        {
            "source_type": row["source_type"],
            "source_id": row["id"],
            "role": row["role"],
            "conversation_id": row["thread_id"],
            "created_at": row["created_at"].isoformat(),
        }
    )
