"""`open_graph`: the compiled graph on Postgres, opened and closed around its use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore

from ..runtime.resources import Resources
from ..runtime.telemetry import watch
from ..runtime.toolbox import Tool
from ..search.engines import SearchEngine
from ..settings.settings import Settings
from ..storage.loop_thread import node_thread
from ..storage.open import checkpointer_of, locks_of
from .build import build_graph
from .conversation import Conversation


def conversation_on(resources: Resources) -> Conversation:
    """The compiled graph on resources that are not opened: the database opens itself with its first use."""
    checkpointer = checkpointer_of(resources.database)
    graph = build_graph(resources=resources).compile(checkpointer=checkpointer, name="everthread")
    return graph.with_locks(locks_of(resources.database))


class open_graph:  # noqa: N801  # used like the function `open`
    """Open the graph, with Postgres behind it: `async with open_graph() as graph:`, or `with` from sync code.

    What is entered is a compiled LangGraph graph with `ainvoke`, `astream`, `invoke`, `stream`, `aget_state`, ...

    Args:
        settings: the base over which the context of each run is laid; by default the environment's.
        model: a chat model that answers, instead of the one that the settings name.
        embeddings: an embedding model, instead of the one that the settings name.
        engines: search engines by name, beside those that everthread knows.
        vector_store: a LangChain vector store (or its import path), instead of our own table.
        fallbacks: chat models that answer where the first fails, before those that the settings name.
        tools: what the model may call: LangChain tools, functions, or schemas of what is run elsewhere.
        responder: a Runnable, a compiled agent or a function that answers instead of the model.
        **values: single settings by name, instead of `settings`.

    Raises:
        SettingsError: a setting is not allowed, or something is no tool or no responder.
        StorageError: the database cannot be started or reached (when entered).
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        model: BaseChatModel | None = None,
        embeddings: Embeddings | None = None,
        engines: Mapping[str, SearchEngine] | None = None,
        vector_store: VectorStore | str | None = None,
        fallbacks: Sequence[BaseChatModel] = (),
        tools: Sequence[Tool] = (),
        responder: Runnable[Any, Any] | Callable[..., Any] | None = None,
        **values: Any,
    ) -> None:
        base = Settings() if settings is None else settings
        if isinstance(base, Settings):  # anything else, `Resources` refuses
            base = base.but(**values)
        self.resources = Resources(
            base,
            model=model,
            embeddings=embeddings,
            engines=engines,
            vector_store=vector_store,
            fallbacks=fallbacks,
            tools=tools,
            responder=responder,
        )

    async def __aenter__(self) -> Conversation:
        await asyncio.to_thread(watch, self.resources)  # it may have to import OpenTelemetry
        await self.resources.open()
        graph = conversation_on(self.resources)
        self._locks = graph.locks
        return graph

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._locks.close()
        await self.resources.close()

    def __enter__(self) -> Conversation:
        return node_thread.run_sync(self.__aenter__())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        node_thread.run_sync(self.__aexit__(kind, error, trace))
