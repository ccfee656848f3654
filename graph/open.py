"""`open_graph`: the compiled graph on its storage, opened and closed around its use.

LangGraph and what else takes long is imported where a graph is made: a program that only names it starts at once. Where
LangGraph is there already, so is the rest: a server that forbids its event loop to read files must not meet it there.
"""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, cast

if "langgraph.graph" in sys.modules:
    from . import build as _  # noqa: F401

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..runtime.components import Components
    from ..runtime.resources import Resources
    from ..settings.settings import Settings
    from ..storage.loop_checkpointer import LoopCheckpointer
    from .conversation import Conversation


def conversation_on(resources: Resources) -> Conversation:
    """The compiled graph on resources that are not opened: the storage opens itself with its first use."""
    from ..storage.open import checkpointer_of, locks_of
    from .build import ConversationGraph

    resources.locks = locks_of(resources.database)
    return ConversationGraph(resources).compile(checkpointer=checkpointer_of(resources.database), name="everthread")


class open_graph:  # noqa: N801  # used like the function `open`
    """Open the graph with its storage: `async with open_graph() as graph:`, or `with` from sync code.

    What is entered is a compiled LangGraph graph with `ainvoke`, `astream`, `invoke`, `stream`, `aget_state`, ...

    Args:
        settings: the base over which the context of each run is laid; by default the environment's.
        **components: what is given as an object instead of by name in the settings: see `Components`.

    Raises:
        SettingsError: a setting is not allowed, or something is no component; or the embedding model that is named
            cannot be had (when entered).
        StorageError: the database cannot be started or reached (when entered).
    """

    def __init__(self, settings: Settings | None = None, **components: Unpack[Components]) -> None:
        from ..runtime.resources import Resources
        from ..settings.settings import Settings

        self.resources = Resources(Settings() if settings is None else settings, **components)

    if not TYPE_CHECKING:  # a type checker knows that there is no such attribute

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"The graph is not open, and has no {name!r} yet: enter it, `async with open_graph(...) as graph:`, "
                f"or `with` from sync code, then use `graph.{name}`."
            )

    async def __aenter__(self) -> Conversation:
        # In a thread, as it may have to import OpenTelemetry.
        graph = await asyncio.to_thread(conversation_on, self.resources)
        await self.resources.open()
        self._checkpointer = cast("LoopCheckpointer", graph.checkpointer)
        return graph

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.resources.away.close(self.resources.locks)
        await self._checkpointer.closed()
        await self.resources.close()

    def __enter__(self) -> Conversation:
        from ..storage.loop_thread import node_thread

        return node_thread.run_sync(self.__aenter__())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from ..storage.loop_thread import node_thread

        node_thread.run_sync(self.__aexit__(kind, error, trace))
