"""The peers of `bench/turn.py` that come from other packages: LangMem's SummarizationNode, and mem0."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.graph import START, MessagesState, StateGraph

BUDGET = 6976
"""Tokens of a prompt: everthread's default, less its reply."""


def peers(bench: Any) -> Iterator[Callable[[int], Awaitable[Any]]]:
    """Those of the peers that are installed; the others are named."""
    for package, peer in (("langmem", langmem(bench)), ("mem0", mem0(bench))):
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not installed and left out: pip install {'mem0ai' if package == 'mem0' else package}")
        else:
            yield peer


def langmem(bench: Any) -> Callable[[int], Awaitable[Any]]:
    """A chat with LangMem's SummarizationNode before its answer; the state keeps all messages, as LangMem shows it."""

    async def langmem_summarization_node(length: int) -> Any:
        from langmem.short_term import SummarizationNode
        from turn import chat_model

        class State(MessagesState):
            context: dict[str, Any]
            summarized_messages: list[AnyMessage]

        chat = chat_model()

        async def answer(state: State) -> dict[str, Any]:
            return {"messages": [await chat.ainvoke(state["summarized_messages"])]}

        node = SummarizationNode(model=chat_model().bind(max_tokens=256), max_tokens=BUDGET, max_summary_tokens=256)
        graph = StateGraph(State).add_node("summarize", node).add_node("answer", answer)
        graph.add_edge(START, "summarize").add_edge("summarize", "answer")
        allowed = [("langmem.short_term.summarization", "RunningSummary")]
        return await bench.chat("LangMem SummarizationNode", graph, length, allowed)

    return langmem_summarization_node


def mem0(bench: Any) -> Callable[[int], Awaitable[Any]]:
    """mem0's search and add with the same embedding model, on pgvector in the same server."""

    async def mem0_add_and_search(length: int) -> Any:
        from turn import Contestant

        os.environ["MEM0_TELEMETRY"] = "False"
        memory = await asyncio.to_thread(_memory, bench, length)
        history = bench.history(length)
        for start in range(0, len(history), 500):
            batch = history[start : start + 500]
            texts = [message.text for message in batch]
            payloads = [
                {"data": text, "user_id": "bench", "hash": "", "created_at": m.additional_kwargs["created_at"]}
                for text, m in zip(texts, batch, strict=True)
            ]
            vectors = type(bench.embeddings)().embed_documents(texts)
            ids = [str(uuid.uuid4()) for _ in batch]
            await asyncio.to_thread(memory.vector_store.insert, vectors, payloads, ids)

        def one(n: int) -> None:
            question = bench.remark(n)
            memory.search(question, filters={"user_id": "bench"}, top_k=5)
            said = [{"role": "user", "content": question}, {"role": "assistant", "content": f"Noted, remark {n}."}]
            memory.add(said, user_id="bench", infer=False)

        return Contestant("mem0 add and search", length, "", lambda n: asyncio.to_thread(one, n))

    return mem0_add_and_search


def _memory(bench: Any, length: int) -> Any:
    from mem0 import Memory

    url = asyncio.run(bench.opened.resources.database.server.url())
    memory = Memory.from_config({
        "vector_store": {
            "provider": "pgvector",
            "config": {"connection_string": url, "collection_name": f"mem0_{length}", "embedding_model_dims": 384},
        },
        "llm": {"provider": "openai", "config": {"api_key": "unused"}},
        "embedder": {"provider": "openai", "config": {"api_key": "unused"}},
        "history_db_path": ":memory:",
    })  # fmt: skip
    memory.embedding_model = _SameModel(bench.embeddings)
    return memory


class _SameModel:
    """The bench's embedding model in mem0's form."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        vector: list[float] = self._model.embed_query(text)
        return vector

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        vectors: list[list[float]] = self._model.embed_documents(texts)
        return vectors
