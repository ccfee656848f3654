"""Nodes and edges as runnables that work async and sync: a node function with its resources, timed; a decision."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime

from ..runtime.close_turn import close_turn
from ..runtime.resources import Resources
from ..runtime.run_settings import given
from ..runtime.turn import Turn
from ..state.conversation import ConversationState, Update
from ..state.records import now
from ..state.turn_report import after, next_progress
from ..storage.loop_thread import node_thread

RUNTIME_KEY = "__pregel_runtime"
"""Where LangGraph keeps the runtime of a graph, in the `configurable` of its nodes and edges."""

NodeFunction = Callable[[ConversationState, Turn], Awaitable[Update]]
EndsTurn = Callable[[ConversationState, Turn], bool]


class Node(Runnable[ConversationState, Update]):
    """A node function as a runnable; under `invoke` it runs on a loop of ours while the caller waits.

    LangGraph's own wrapper takes a sync or an async function, not both, unless one uses a private class. To what the
    function returns it adds `progress`, and `report` where the turn ends with this node.
    """

    def __init__(self, function: NodeFunction, resources: Resources, ends_turn: EndsTurn | None = None) -> None:
        self.name: str = getattr(function, "__name__", "node")
        self._function = function
        self._resources = resources
        self._ends_turn = ends_turn

    async def ainvoke(self, input: ConversationState, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002  # the base class names it so
        """Run the node function on the state."""
        turn = turn_here(self._resources, config)
        key = self.key_of(turn)
        started_at, started = now(), time.perf_counter()
        with self._resources.observer.node(self.name, key):
            update = await self._function(input, turn)
        milliseconds = (time.perf_counter() - started) * 1000
        progress = next_progress(input, self.name, milliseconds, started_at)
        update = {**update, "progress": progress.model_dump(mode="json")}
        if self._ends_turn is not None and self._ends_turn(values := after(input, update), turn):
            report = await close_turn(values, turn)
            update["report"] = report.model_dump(mode="json", exclude_none=True)
            self._resources.observer.closed(report, key)
        return update

    @staticmethod
    def key_of(turn: Turn) -> str:
        """What tells the turn from others: its run, or its thread, where one turn runs at a time."""
        return str((turn.config.get("metadata") or {}).get("run_id") or turn.thread_id)

    def invoke(self, input: ConversationState, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002
        """`ainvoke`, blocking."""
        return node_thread.run_sync(self.ainvoke(input, config))


def turn_here(resources: Resources, config: RunnableConfig | None) -> Turn:
    """The turn of the run that asks; where a state is changed from outside, the base settings count."""
    config = config or get_config()
    runtime: Runtime[Any] = config.get("configurable", {}).get(RUNTIME_KEY) or Runtime()
    return Turn(resources, resources.settings_of(runtime, config), config, given(runtime.context, config).own)


class Edge(Runnable[ConversationState, Any]):
    """A decision where a turn goes next, made where it is asked for: LangGraph would have a thread make it.

    Args:
        function: which decides; it must be quick.
        resources: what the nodes share.
    """

    def __init__(self, function: Callable[[ConversationState, Turn], Any], resources: Resources) -> None:
        self.name: str = getattr(function, "__name__", "edge")
        self._function = function
        self._resources = resources

    def invoke(self, input: ConversationState, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002  # the base class names it so
        """Decide."""
        return self._function(input, turn_here(self._resources, config))

    async def ainvoke(self, input: ConversationState, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """Decide."""
        return self.invoke(input, config)


def as_node(function: NodeFunction, resources: Resources, ends_turn: EndsTurn | None = None) -> Node:
    """The node for `StateGraph.add_node`.

    Args:
        function: what the node does.
        resources: what the nodes share.
        ends_turn: whether the turn ends with the state that the node leaves; by default it does not.
    """
    return Node(function, resources, ends_turn)
