"""`as_node`: a node function with its resources, as a runnable that works async and sync."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime

from ..memory.loop_thread import node_thread
from ..nodes.resources import Resources
from ..nodes.turn import Turn
from ..state.conversation import ConversationState, Update
from ..state.settings import Settings

NodeFunction = Callable[[ConversationState, Turn], Awaitable[Update]]


class Node(Runnable[ConversationState, Update]):
    """A node function as a runnable; under `invoke` it runs on a loop of ours while the caller waits.

    LangGraph's own wrapper takes a sync or an async function, not both, unless one uses a private class.
    """

    def __init__(self, function: NodeFunction, resources: Resources) -> None:
        self.name = getattr(function, "__name__", "node")
        self._function = function
        self._resources = resources

    async def ainvoke(self, input: ConversationState, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002  # the base class names it so
        """Run the node function on the state."""
        runtime: Runtime[Settings] | None = get_runtime(Settings)
        settings = self._resources.settings_of(runtime or Runtime())
        return await self._function(input, Turn(self._resources, settings, config))

    def invoke(self, input: ConversationState, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002
        """`ainvoke`, blocking."""
        return node_thread.run_sync(self.ainvoke(input, config))


def as_node(function: NodeFunction, resources: Resources) -> Node:
    """The node for `StateGraph.add_node`."""
    return Node(function, resources)
