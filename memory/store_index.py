"""`StoreIndex`: the vector arm on any LangChain `VectorStore`, instead of our own table."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.vectorstores import VectorStore

from ..models.embeddings import BATCH as CALL
from ..models.embeddings import Embedder
from ..models.shared_embeddings import SharedEmbeddings
from ..settings.settings import Settings
from ..storage.user_rows import UserRows
from ..storage.values import Row
from ..storage.vector_rows import chunks, mark_embedded, metadata, vector_id
from .held_summaries import SummarySource
from .store_client import StoreClient
from .vectors import BATCH, Lookup, VectorIndex, on_scale

logger = logging.getLogger(__name__)


class _Key(NamedTuple):
    """Where a hit comes from."""

    source_type: str
    thread_id: str
    source_id: str


class StoreIndex(VectorIndex):
    """Vectors in a LangChain vector store; the archive stays in Postgres, and says what is to be embedded.

    The store's filter narrows a search to the user, and what comes back is checked: a hit without this user's id, or
    whose message is not in this user's archive, is dropped. What the store has lost (one in memory, after a restart)
    or never had is embedded again.

    Args:
        rows: the user's.
        embedder: the embedding model.
        store: the store, which has vectors of all users.
    """

    elsewhere = True

    def __init__(self, rows: UserRows, embedder: Embedder, store: StoreClient) -> None:
        super().__init__(rows, embedder)
        self._store = store
        self._is_adopted = self._is_recovered = False

    async def _embed_pending(self, timeout: float, limit: int) -> int:
        """What is in another store, or in our own table, counts as not embedded."""
        if not self._is_adopted:
            await self._adopt(lost=False)
            self._is_adopted = True
        return await super()._embed_pending(timeout, limit)

    def may_have_pending(self, *, without_vectors: bool) -> bool:
        """As for `VectorIndex`; what is in another store is found out the first time."""
        return without_vectors or not self._is_adopted

    def expect(self, question: str) -> None:
        """Nothing: the store embeds the question itself."""

    async def lookup(self, question: str, *, limit: int, thread_only: str | None = None, timeout: float) -> Lookup:
        """As for `VectorIndex`, through the store's own search.

        Raises:
            EmbeddingError: the store fails or is too slow.
        """
        rows = await self._found(question, limit=limit, thread_only=thread_only, timeout=timeout)
        found = [
            (
                row["source_type"],
                SummarySource(row["thread_id"], row["source_id"], row["role"], row["created_at"]),
                row["cosine"],
            )
            for row in rows
        ]
        return lambda memory, _: on_scale(memory.near_by(found), self._embedder.scale, question)

    async def _found(self, question: str, *, limit: int, thread_only: str | None, timeout: float) -> list[Row]:
        found = await self._store.search(
            self._rows.user_id, question, limit=limit, thread_only=thread_only, timeout=timeout
        )
        if not found and thread_only is None and not self._is_recovered:
            self._is_recovered = True
            if await self._adopt(lost=True):
                logger.warning("The vector store has lost what it held of a user: it is embedded again.")
                await self.embed_pending(timeout=timeout)
                return await self._found(question, limit=limit, thread_only=None, timeout=timeout)
        best: dict[_Key, float] = {}
        passages: dict[tuple[str, str], str] = {}
        for document, value in sorted(found, key=lambda hit: -hit[1]):
            data = document.metadata
            key = _Key(str(data.get("source_type")), str(data.get("conversation_id")), str(data.get("source_id")))
            if key not in best:
                best[key] = value
                passages[key.thread_id, key.source_id] = document.page_content
        self._store.passages[self._rows.user_id, question] = passages
        return await self._rows.fetch(
            "vector_store.rows",
            types=[key.source_type for key in best],
            threads=[key.thread_id for key in best],
            ids=[key.source_id for key in best],
            cosines=list(best.values()),
            limit=limit,
        )

    async def passages(
        self, question: str, sources: Sequence[tuple[str, str]], *, timeout: float
    ) -> dict[tuple[str, str], str]:
        """As for `VectorIndex`, from what the search for this question brought."""
        found = self._store.passages.get((self._rows.user_id, question), {})
        return {source: found[source] for source in sources if source in found}

    async def forget(self, threads: Sequence[str], *, ids: Sequence[str] | None = None, timeout: float) -> None:
        """Delete the vectors of these threads from the store, or of these messages and summaries in them.

        Raises:
            EmbeddingError: the store fails or is too slow.
        """
        self._store.passages.clear()
        while rows := await self._rows.fetch(
            "vector_store.embedded",
            threads=list(threads),
            ids=None if ids is None else list(ids),
            name=self._store.name,
            limit=BATCH,
        ):
            parts = await asyncio.to_thread(lambda: [(row, len(chunks(row))) for row in rows])
            vectors = [
                str(vector_id(self._rows.user_id, self._store.name, row, n))
                for row, number in parts
                for n in range(number)
            ]
            await self._store.remove(vectors, timeout=timeout)
            await mark_embedded(self._rows, "", rows)

    async def notice(self, *, timeout: float) -> str | None:
        """None: what is not in the store is embedded again by itself."""
        return None

    async def _adopt(self, *, lost: bool) -> int:
        """Mark what is elsewhere (or, where the store lost it, what should be there) as still to be embedded."""
        rows = await self._rows.fetch("vector_store.adopt", name=self._store.name, lost=lost)
        return int(rows[0]["n"])

    async def _embed(self, pending: Sequence[Row], timeout: float) -> None:
        texts = await asyncio.to_thread(lambda: [chunks(row) for row in pending])
        flat = [
            (row, index, text) for row, parts in zip(pending, texts, strict=True) for index, text in enumerate(parts)
        ]
        if flat:
            ids = [str(vector_id(self._rows.user_id, self._store.name, row, index)) for row, index, _ in flat]
            about = [{**metadata(row), "user_id": self._rows.user_id} for row, _, _ in flat]
            seconds = timeout * (1 + len(flat) // CALL)
            await self._store.add([text for _, _, text in flat], about, ids, timeout=seconds)
        await mark_embedded(self._rows, self._store.name, pending)


def vector_index(rows: UserRows, embedder: Embedder, store: StoreClient | None) -> VectorIndex:
    """The vector arm of a user: in this store, or in our own table where it is None."""
    return VectorIndex(rows, embedder) if store is None else StoreIndex(rows, embedder, store)


def store_client(settings: Settings, embedder: Embedder, store: VectorStore | str | None = None) -> StoreClient | None:
    """The vector store instead of our own table; None where there is none.

    Args:
        settings: `vector_store`, `timeouts`.
        embedder: the model, for a store that is made from an import path.
        store: a vector store or its import path, before the one that the settings name.
    """
    wanted = store if store is not None else settings.vector_store
    return None if wanted is None else StoreClient(wanted, SharedEmbeddings(embedder, settings.timeouts.embedding))
