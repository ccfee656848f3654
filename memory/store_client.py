"""`StoreClient`: any LangChain `VectorStore`, searched for one user, with cosines as scores."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from inspect import Parameter
from typing import Any, Final, TypeVar

from cachetools import LRUCache
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from ..models.imports import imported
from ..state.errors import EmbeddingError, EverthreadError, first_line
from ..storage.loop_thread import LoopThread
from .store_scores import SCALES, cosine, fit

T = TypeVar("T")

store_thread = LoopThread("everthread-store")
"""The loop of the vector store: an async client belongs to one loop."""

_SAMPLE: Final = 16
"""Hits whose cosines are computed where the scale of the scores is not known."""

_SEARCHES: Final = 64
"""Searches whose passages are remembered."""

_MOST: Final = 10_000
"""Hits that are asked for, at most, where a store returns those of other users."""


class StoreClient:
    """A vector store, made with its first use.

    Args:
        store: a vector store, or the import path 'package.module:name' of one, of a class, or of a function that makes
            one; the latter two are given the embeddings if they take an argument.
        embeddings: the embeddings for a store that is made, and for scores of a store that tells none of its own.

    Attributes:
        passages: what the last searches found, by user and question: by thread and id, the best chunk.
    """

    def __init__(self, store: VectorStore | str, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._path = store if isinstance(store, str) else None
        self._made = None if isinstance(store, str) else store
        self._making = asyncio.Lock()
        self._scale: str | None = None
        self.passages = LRUCache[tuple[str, str], dict[tuple[str, str], str]](_SEARCHES)

    @property
    def name(self) -> str:
        """What tells the vectors in this store from others: the model, if it is known, and the store."""
        if self._path is not None:
            return f"{getattr(self._embeddings, 'model_name', '')} in {self._path}"
        embeddings = self._made.embeddings if self._made is not None else None
        model = getattr(embeddings, "model_name", None) or getattr(embeddings, "model", None)
        return f"{model or type(embeddings).__name__} in {type(self._made).__name__}"

    async def add(self, texts: list[str], about: list[dict[str, str]], ids: list[str], *, timeout: float) -> None:
        """Store texts in place of those with the same ids.

        Args:
            texts: what is embedded.
            about: the metadata of each; `user_id` and `conversation_id` are what a search filters by.
            ids: UUIDs.
            timeout: seconds.

        Raises:
            EmbeddingError: the store fails or is too slow.
        """
        await self._guarded(self._add(texts, about, ids), timeout)

    async def remove(self, ids: list[str], *, timeout: float) -> None:
        """Delete documents; those that are not there do not matter.

        Raises:
            EmbeddingError: the store fails or is too slow.
        """

        async def work() -> None:
            await (await self._store()).adelete(ids)

        await self._guarded(work(), timeout)

    async def search(
        self, user_id: str, question: str, *, limit: int, thread_only: str | None, timeout: float
    ) -> list[tuple[Document, float]]:
        """The user's documents nearest to the question, with cosines in [-1, 1].

        What comes back is checked: a document without this user's id is dropped, whatever the store made of the filter.

        Args:
            user_id: whose.
            question: any text.
            limit: documents, at most.
            thread_only: this thread alone; None searches all.
            timeout: seconds.

        Raises:
            EmbeddingError: the store fails or is too slow.
        """
        return await self._guarded(self._own_hits(user_id, question, limit, thread_only), timeout)

    async def _add(self, texts: list[str], about: list[dict[str, str]], ids: list[str]) -> None:
        store = await self._store()
        try:
            await store.aadd_texts(texts, about, ids=ids)
        except EverthreadError:
            raise
        except Exception:
            # Some stores refuse an id that they have; a pass that was killed may have left some.
            await store.adelete(ids)
            await store.aadd_texts(texts, about, ids=ids)

    async def _own_hits(
        self, user_id: str, question: str, limit: int, thread_only: str | None
    ) -> list[tuple[Document, float]]:
        """The user's documents with their cosines. A store that ignores the filter is asked for more."""
        wanted = ("user_id", user_id) if thread_only is None else ("conversation_id", thread_only)
        number = limit
        while True:
            found = await self._search(question, number, *wanted)
            own = [hit for hit in found if _is_of(hit[0], user_id, thread_only)]
            if len(own) >= limit or len(found) < number or number >= _MOST:
                return await self._with_cosines(question, own[:limit])
            number = min(_MOST, number * 4)

    async def _search(self, question: str, number: int, key: str, value: str) -> list[tuple[Document, float]]:
        store = await self._store()
        return await store.asimilarity_search_with_score(question, k=number, filter=_filter(store, key, value))

    async def _with_cosines(self, question: str, hits: list[tuple[Document, float]]) -> list[tuple[Document, float]]:
        if self._scale is None and hits:
            sample = hits[:_SAMPLE]
            cosines = await self._cosines(question, [document.page_content for document, _ in sample])
            self._scale = fit([score for _, score in sample], cosines)
            if self._scale is None:
                return [(document, value) for (document, _), value in zip(sample, cosines, strict=True)]
        scale = SCALES[self._scale or "cosine"]
        return [(document, max(-1.0, min(1.0, scale(score)))) for document, score in hits]

    async def _cosines(self, question: str, texts: list[str]) -> list[float]:
        embeddings = (await self._store()).embeddings or self._embeddings
        asked = await embeddings.aembed_query(question)
        return [cosine(asked, vector) for vector in await embeddings.aembed_documents(texts)]

    async def _store(self) -> VectorStore:
        """The store, made with its first use. Only on the loop of the store."""
        if self._made is None and self._path is not None:
            async with self._making:
                if self._made is None:
                    made = await asyncio.to_thread(self._make, self._path)
                    self._made = await made if inspect.isawaitable(made) else made
        if not isinstance(self._made, VectorStore):
            kind, self._made = type(self._made).__name__, None
            raise TypeError(f"{self._path} gives {kind}, expected a LangChain VectorStore")
        return self._made

    def _make(self, path: str) -> Any:
        found = imported(path)
        if isinstance(found, VectorStore):
            return found
        takes = [one.kind for one in inspect.signature(found).parameters.values()]
        return found(self._embeddings) if takes and takes[0] <= Parameter.POSITIONAL_OR_KEYWORD else found()

    async def _guarded(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        async def in_time() -> T:
            async with asyncio.timeout(timeout):
                return await work

        name = self._path or type(self._made).__name__
        try:
            return await store_thread.run(in_time())
        except EmbeddingError:
            raise
        except TimeoutError:
            raise EmbeddingError(
                f"The vector store {name!r} took longer than {timeout:g} s: memory is not searched by meaning until it "
                "answers. Set EVERTHREAD_TIMEOUTS=embedding=120, or check the store."
            ) from None
        except Exception as error:
            raise EmbeddingError(
                f"The vector store {name!r} failed: {first_line(error)}. Check EVERTHREAD_VECTOR_STORE."
            ) from error


def _is_of(document: Document, user_id: str, thread_only: str | None) -> bool:
    data = document.metadata
    return data.get("user_id") == user_id and thread_only in {None, data.get("conversation_id")}


def _filter(store: VectorStore, key: str, value: str) -> Any:
    """Metadata that hits must have, as this kind of store takes it: mostly a dictionary."""
    if isinstance(store, InMemoryVectorStore):
        return lambda document: document.metadata.get(key) == value
    if "qdrant" in type(store).__module__:
        models = imported("qdrant_client:models")
        match = models.FieldCondition(key=f"metadata.{key}", match=models.MatchValue(value=value))
        return models.Filter(must=[match])
    return {key: value}
