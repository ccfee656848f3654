"""`CallNode`: the node of the tools, which an edge sends one call each."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import RunnableConfig

from ..runtime.resources import Resources
from ..runtime.turn import Turn
from ..state.records import now
from ..state.report_records import Progress
from .node import Node, turn_here


class CallNode(Node):
    """A node whose input is what an edge sent, and not the state; its output may be LangGraph's commands, too."""

    def __init__(self, function: Callable[[Any, Turn], Awaitable[Any]], resources: Resources) -> None:
        super().__init__(function, resources)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002  # the base class names it so
        """Run the node function on what was sent."""
        turn = turn_here(self._resources, config)
        started_at, started = now(), time.perf_counter()
        with self._resources.observer.node(self.name, self.key_of(turn)):
            output = await self._function(input, turn)
        spent = {self.name: round((time.perf_counter() - started) * 1000, 1)}
        counted = Progress(question_id=None, turn=1, started_at=started_at, milliseconds=spent)
        progress = {"progress": counted.model_dump(mode="json")}
        # LangGraph takes a list of updates only where a command is among them.
        if isinstance(output, dict):
            return {**output, **progress}
        return [*(output if isinstance(output, list) else [output]), progress]
