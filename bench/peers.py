"""Other memories that work without a language model, behind one small interface, for `python -m bench.recall --peers`.

Each is used as its documentation shows, with its own defaults, on the same Postgres server and with the same embedding
model as everthread. None is a dependency: one that is not installed is left out, and a line says how to get it. By
itself, `python -m bench.peers` tries each with two users and a few messages.

    pip install mem0ai langmem        # langmem brings langchain-anthropic and langchain-openai, which are not needed
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

BATCH = 256


def text_of(message: BaseMessage) -> str:
    """What a peer is told of a message: who said it, if that is known, and what."""
    return f"{message.name}: {message.text}" if message.name else message.text


def role_of(message: BaseMessage) -> str:
    return "user" if message.type == "human" else "assistant"


def batches(messages: Sequence[BaseMessage]) -> list[Sequence[BaseMessage]]:
    return [messages[start : start + BATCH] for start in range(0, len(messages), BATCH)]


class Peer(ABC):
    """A memory of several users.

    Args:
        url: the Postgres server, as postgresql://...
        embeddings: the embedding model: `SharedEmbeddings` with a large cache embeds each text once for all peers.
    """

    name: str
    needs: str
    """What to install."""

    def __init__(self, url: str, embeddings: Embeddings) -> None:
        self.url = url
        self.embeddings = embeddings
        self.stack = AsyncExitStack()

    @abstractmethod
    async def open(self) -> None:
        """Import it and make its tables.

        Raises:
            ImportError: it is not installed.
        """

    @abstractmethod
    async def add(self, user: str, messages: Sequence[BaseMessage]) -> None:
        """Remember messages, each with an id; `created_at` (ISO 8601) is among their additional_kwargs."""

    @abstractmethod
    async def search(self, user: str, question: str, k: int) -> list[str]:
        """Ids of up to `k` messages of the user, the best first."""

    async def close(self) -> None:
        await self.stack.aclose()

    async def dimensions(self) -> int:
        # Embedded as both, so that the cache learns whether a document's vector serves a question.
        await self.embeddings.aembed_documents(["dimensions"])
        return len(await self.embeddings.aembed_query("dimensions"))


class NoModel(BaseChatModel):
    """Stands where a peer asks for a language model that it must not use."""

    @property
    def _llm_type(self) -> str:
        return "none"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        raise RuntimeError("no language model is to be used")


class Mem0(Peer):
    """mem0 with infer=False: each message is stored as it is.

    Its lemmas and entities need a spaCy model that comes by download only: without it, words are matched as they stand.
    """

    name = "mem0, infer=False"
    needs = "mem0ai"

    async def open(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="mem0-"))
        self.stack.callback(shutil.rmtree, folder, ignore_errors=True)
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder))
        size = await self.dimensions()

        def made() -> Any:
            from mem0 import Memory
            from mem0.memory import notices

            # It would ask the network for notices to show; the ones it brings serve.
            notices._fetch_remote_config = lambda: None
            store = {
                "collection_name": f"mem0_{uuid.uuid4().hex[:8]}",
                "connection_string": self.url,
                "embedding_model_dims": size,
            }
            return Memory.from_config({
                "vector_store": {"provider": "pgvector", "config": store},
                "embedder": {"provider": "langchain", "config": {"model": self.embeddings}},
                "llm": {"provider": "langchain", "config": {"model": NoModel()}},
                "history_db_path": str(folder / "history.db"),
            })  # fmt: skip

        self.memory = await asyncio.to_thread(made)

    async def add(self, user: str, messages: Sequence[BaseMessage]) -> None:
        # mem0 embeds one text at a time: with the cache of `SharedEmbeddings` it finds them made in batches.
        await self.embeddings.aembed_documents([text_of(message) for message in messages])

        def work() -> None:
            for message in messages:
                said = [{"role": role_of(message), "content": text_of(message)}]
                about = {"message_id": message.id, **message.additional_kwargs}
                self.memory.add(said, user_id=user, metadata=about, infer=False)

        await asyncio.to_thread(work)

    async def search(self, user: str, question: str, k: int) -> list[str]:
        found = await asyncio.to_thread(self.memory.search, question, top_k=k, filters={"user_id": user})
        return [hit["metadata"]["message_id"] for hit in found["results"]]

    async def close(self) -> None:
        self.memory.vector_store.connection_pool.close()
        await super().close()


class LangGraphStore(Peer):
    """LangGraph's `AsyncPostgresStore` with its semantic index."""

    name = "LangGraph PostgresStore"
    needs = "langgraph-checkpoint-postgres"
    root = "memories"
    field = "text"

    async def open(self) -> None:
        from langgraph.store.postgres.aio import AsyncPostgresStore

        index: Any = {"dims": await self.dimensions(), "embed": self.embeddings, "fields": [self.field]}
        made = AsyncPostgresStore.from_conn_string(self.url, index=index)
        self.store = await self.stack.enter_async_context(made)
        await self.store.setup()

    async def add(self, user: str, messages: Sequence[BaseMessage]) -> None:
        from langgraph.store.base import PutOp

        for batch in batches(messages):
            values = [{self.field: text_of(m), "role": role_of(m), **m.additional_kwargs} for m in batch]
            position = (self.root, label(user))
            await self.store.abatch([PutOp(position, str(m.id), v) for m, v in zip(batch, values, strict=True)])

    async def search(self, user: str, question: str, k: int) -> list[str]:
        return [item.key for item in await self.store.asearch((self.root, label(user)), query=question, limit=k)]


def label(user: str) -> str:
    """A user as a label of a namespace, which takes no full stop."""
    return user.replace(".", "_")


class LangMem(LangGraphStore):
    """LangMem's search tool on the same kind of store."""

    name = "LangMem search"
    needs = "langmem"
    root = "langmem"
    field = "content"

    async def open(self) -> None:
        from langmem import create_search_memory_tool

        await super().open()
        self.tool = create_search_memory_tool((self.root, "{langgraph_user_id}"), store=self.store)

    async def search(self, user: str, question: str, k: int) -> list[str]:
        config: Any = {"configurable": {"langgraph_user_id": label(user)}}
        return [item["key"] for item in json.loads(await self.tool.ainvoke({"query": question, "limit": k}, config))]


class LangChainHybrid(Peer):
    """langchain-postgres' `PGVectorStore` with hybrid search: vectors and full text, reciprocal rank fusion."""

    name = "langchain-postgres hybrid"
    needs = "langchain-postgres"
    most = 120
    """Rows that either search brings; its default of 4 cannot fill the measures."""

    async def open(self) -> None:
        from langchain_postgres import Column, PGEngine, PGVectorStore
        from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion

        self.hybrid = hybrid = HybridSearchConfig(
            tsv_column="content_tsv",
            fusion_function=reciprocal_rank_fusion,
            fusion_function_parameters={"rrf_k": 60, "fetch_top_k": self.most},
            primary_top_k=self.most,
            secondary_top_k=self.most,
        )
        engine = PGEngine.from_connection_string(self.url.replace("postgresql://", "postgresql+psycopg://"))
        self.stack.push_async_callback(engine.close)
        table = f"hybrid_{uuid.uuid4().hex[:8]}"
        await engine.ainit_vectorstore_table(
            table,
            await self.dimensions(),
            metadata_columns=[Column("user_id", "TEXT"), Column("message_id", "TEXT")],
            hybrid_search_config=hybrid,
        )
        self.store = await PGVectorStore.create(
            engine, self.embeddings, table, metadata_columns=["user_id", "message_id"], hybrid_search_config=hybrid
        )

    async def add(self, user: str, messages: Sequence[BaseMessage]) -> None:
        for batch in batches(messages):
            about = [{"user_id": user, "message_id": m.id, "role": role_of(m), **m.additional_kwargs} for m in batch]
            await self.store.aadd_texts([text_of(m) for m in batch], about)

    async def search(self, user: str, question: str, k: int) -> list[str]:
        # Given anew: the store would keep the first question in its own, and match all later ones with it.
        hybrid = replace(self.hybrid, fts_query=question)
        found = await self.store.asimilarity_search(
            question, k=k, filter={"user_id": user}, hybrid_search_config=hybrid
        )
        return [document.metadata["message_id"] for document in found]


PEERS: tuple[type[Peer], ...] = (Mem0, LangGraphStore, LangChainHybrid, LangMem)


async def open_peers(url: str, embeddings: Embeddings) -> list[Peer]:
    """Those peers that are installed, opened; a line is printed for each that is not, or cannot be opened."""
    opened = []
    for kind in PEERS:
        peer = kind(url, embeddings)
        try:
            await peer.open()
        except Exception as error:
            reason = "is not installed" if isinstance(error, ImportError) else "cannot be opened"
            print(f"{kind.name} {reason} and is left out: {error}. Get it with: pip install {kind.needs}")
            await peer.stack.aclose()
            continue
        opened.append(peer)
    return opened


async def trial(url: str, embeddings: Embeddings) -> None:
    from langchain_core.messages import AIMessage, HumanMessage

    said: list[BaseMessage] = [
        HumanMessage("My dog is called Biscuit.", id="1", name="Ada"), AIMessage("A fine name!", id="2"),
        HumanMessage("I play the accordion.", id="3"), AIMessage("Every evening?", id="4"),
    ]  # fmt: skip
    for peer in await open_peers(url, embeddings):
        await peer.add("ada.l", said)
        await peer.add("bob", [HumanMessage("My dog is called Rex.", id="b1")])
        found = [await peer.search("ada.l", question, 3) for question in ("What is the dog's name?", "accordion")]
        print(f"{peer.name}: {found}")
        assert "1" in found[0][:2]
        assert "3" in found[1][:2]
        assert "b1" not in [id_ for ids in found for id_ in ids]
        await peer.close()


def main() -> None:
    from bench.server_folder import server_folder
    from everthread.models.bundled_weights import BUNDLED_MODEL
    from everthread.models.embeddings import Embedder
    from everthread.models.shared_embeddings import SharedEmbeddings
    from everthread.storage.embedded.server import ensure_server

    with server_folder() as folder:
        asyncio.run(trial(ensure_server(folder), SharedEmbeddings(Embedder(BUNDLED_MODEL), timeout=600)))


if __name__ == "__main__":
    main()
