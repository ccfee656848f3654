"""`SharedEmbeddings`: the `Embedder` as LangChain embeddings, so that a vector store uses the same model."""

from __future__ import annotations

import asyncio

from langchain_core.embeddings import Embeddings

from .embeddings import Embedder


class SharedEmbeddings(Embeddings):
    """LangChain embeddings on top of an `Embedder`, without its cache: a store does not say whose text it is.

    Args:
        embedder: the model, loaded once a process.
        timeout: seconds for a question, and for each batch of 32 documents.
    """

    def __init__(self, embedder: Embedder, timeout: float) -> None:
        self.model_name = embedder.name
        self._embedder = embedder
        self._timeout = timeout

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """`aembed_documents`, blocking."""
        return asyncio.run(self.aembed_documents(texts))

    def embed_query(self, text: str) -> list[float]:
        """`aembed_query`, blocking."""
        return asyncio.run(self.aembed_query(text))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts; errors as for `Embedder.documents`."""
        return await self._embedder.documents(texts, timeout=self._timeout, cached=False)

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of a question; errors as for `Embedder.query`."""
        return await self._embedder.query(text, timeout=self._timeout, cached=False)
