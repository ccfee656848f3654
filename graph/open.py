"""`open_graph`: the compiled graph on Postgres, opened and closed around its use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel

from ..memory.checkpointer import PostgresCheckpointer
from ..memory.loop_thread import node_thread
from ..memory.thread_lock import ThreadLocks
from ..nodes.resources import Resources
from ..search.engines import SearchEngine
from ..state.settings import Settings
from .build import build_graph
from .conversation import CompiledConversation, Conversation
from .telemetry import watch


class open_graph:  # noqa: N801  # used like the function `open`
    """Open the graph, with Postgres behind it: `async with open_graph() as graph:`, or `with` from sync code.

    What is entered is a compiled LangGraph graph with `ainvoke`, `astream`, `invoke`, `stream`, `aget_state`, ...

    Args:
        settings: the base over which the context of each run is laid; by default the environment's.
        model: a chat model that answers, instead of the one that the settings name.
        embeddings: an embedding model, instead of the one that the settings name.
        engines: search engines by name, beside those that everthread knows.
        **values: single settings by name, instead of `settings`.

    Raises:
        SettingsError: a setting is not allowed.
        StorageError: the database cannot be started or reached (when entered).
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        model: BaseChatModel | None = None,
        embeddings: Embeddings | None = None,
        engines: Mapping[str, SearchEngine] | None = None,
        **values: Any,
    ) -> None:
        base = (settings or Settings()).but(**values)
        self.resources = Resources(base, model=model, embeddings=embeddings, engines=engines)

    async def __aenter__(self) -> CompiledConversation:
        await asyncio.to_thread(watch, self.resources)  # it may have to import OpenTelemetry
        await self.resources.open()
        checkpointer = PostgresCheckpointer(self.resources.database)
        graph = build_graph(resources=self.resources).compile(checkpointer=checkpointer, name="everthread")
        self._locks = ThreadLocks(self.resources.database)
        return Conversation.around(graph, self.resources, self._locks)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._locks.close()
        await self.resources.close()

    def __enter__(self) -> CompiledConversation:
        return node_thread.run_sync(self.__aenter__())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        node_thread.run_sync(self.__aexit__(kind, error, trace))
