"""Nodes and edges as runnables that work async and sync: a node function with its resources, timed; a decision."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, NamedTuple

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.config import get_config
from langgraph.pregel.main import _build_server_info
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from ..runtime.resources import Resources
from ..runtime.run_settings import given
from ..runtime.turn import Turn
from ..state.conversation import ConversationState
from ..state.errors import EverthreadError
from ..state.records import now
from ..state.report_records import Progress, TurnReport
from ..state.turn_report import after, next_progress, turn_report
from ..state.update import Whole
from ..storage.loop_thread import node_thread

logger = logging.getLogger(__name__)

RUNTIME_KEY = "__pregel_runtime"
"""Where LangGraph keeps the runtime of a graph, in the `configurable` of its nodes and edges."""

NodeFunction = Callable[[Any, Turn], Awaitable[Any]]
EndsTurn = Callable[[ConversationState, Turn], bool]


class _Done(NamedTuple):
    """What a node function returned, and when it ran."""

    output: Any
    started_at: datetime
    milliseconds: float


class Node(Runnable[Any, Any]):
    """A node function as a runnable; under `invoke` it runs on a loop of ours while the caller waits.

    LangGraph's own wrapper takes a sync or an async function, not both, unless one uses a private class. To what the
    function returns it adds `progress`, and `report` where the turn ends with this node.

    Args:
        function: what the node does.
        resources: what the nodes share.
        ends_turn: whether the turn ends with the state that the node leaves; by default it does not.
    """

    def __init__(self, function: NodeFunction, resources: Resources, ends_turn: EndsTurn | None = None) -> None:
        self.name: str = getattr(function, "__name__", "node")
        self._function = function
        self._resources = resources
        self._ends_turn = ends_turn

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002  # the base class names it so
        """Run the node function on the state."""
        turn = _turn_here(self._resources, config)
        done = await self._run(input, turn)
        update = {**done.output, "progress": next_progress(input, self.name, done.milliseconds, done.started_at)}
        if self._ends_turn is not None and self._ends_turn(values := after(input, update), turn):
            report = await _close(values, turn)
            update["report"] = report.model_dump(mode="json", exclude_none=True)
            self._resources.observer.closed(report, _key_of(turn))
        return {name: Overwrite(value.value) if isinstance(value, Whole) else value for name, value in update.items()}

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """`ainvoke`, blocking."""
        return node_thread.run_sync(self.ainvoke(input, config))

    async def _run(self, given_input: Any, turn: Turn) -> _Done:
        started_at, started = now(), time.perf_counter()
        with self._resources.observer.node(self.name, _key_of(turn)):
            output = await self._function(given_input, turn)
        return _Done(output, started_at, (time.perf_counter() - started) * 1000)


class CallNode(Node):
    """A node whose input is what an edge sent, and not the state; its output may be LangGraph's commands, too."""

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """Run the node function on what was sent."""
        done = await self._run(input, _turn_here(self._resources, config))
        spent = {self.name: round(done.milliseconds, 1)}
        counted = Progress(question_id=None, turn=1, started_at=done.started_at, milliseconds=spent)
        progress = {"progress": counted.model_dump(mode="json")}
        # LangGraph takes a list of updates only where a command is among them.
        if isinstance(done.output, dict):
            return {**done.output, **progress}
        return [*(done.output if isinstance(done.output, list) else [done.output]), progress]


class Edge(RunnableLambda[Any, Any]):
    """A decision where a turn goes next, made where it is asked for: LangGraph would have a thread make it.

    It is shown those channels of the state that the function's first argument names.

    Args:
        function: which decides; it must be quick.
        resources: what the nodes share, for one that is given the turn as well.
    """

    def __init__(self, function: Callable[..., Any], resources: Resources | None = None) -> None:
        super().__init__(function)
        self._decide = function
        self._resources = resources

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002  # the base class names it so
        """Decide."""
        turn = () if self._resources is None else (_turn_here(self._resources, config),)
        return self._decide(input, *turn)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """Decide."""
        return self.invoke(input, config)


def runtime_of(context: Any, config: RunnableConfig) -> Runtime[Any]:
    """What LangGraph gives the nodes of a run: the context, and whom its server knows."""
    return Runtime(context=context, server_info=_build_server_info(config, Runtime()))


def _turn_here(resources: Resources, config: RunnableConfig | None) -> Turn:
    """The turn of the run that asks; where a state is changed from outside, the base settings count."""
    config = config or get_config()
    runtime: Runtime[Any] = config.get("configurable", {}).get(RUNTIME_KEY) or runtime_of(None, config)
    return Turn(resources, resources.runs.settings_of(runtime, config), config, given(runtime.context, config).own)


def _key_of(turn: Turn) -> str:
    """What tells the turn from others: its run, or its thread, where one turn runs at a time."""
    return str((turn.config.get("metadata") or {}).get("run_id") or turn.thread_id)


async def _close(state: ConversationState, turn: Turn) -> TurnReport:
    """Keep the report of the turn that ends with this state; that it cannot be kept is logged, and the turn goes on.

    No node of its own: it would cost one more checkpoint.
    """
    turn.hold(state)
    report = turn_report({**turn.figures, **state}, Progress.model_validate(state["progress"]))
    if (skipped := turn.user.rows.skipped.told()) is not None:
        report = report.model_copy(update={"degraded": (*report.degraded, skipped)})
    if turn.is_away:  # whoever writes the turn keeps its report
        return report
    try:
        report = await turn.user.reports.keep(turn.thread_id, report)
    except EverthreadError as error:
        logger.warning("The report of the turn was not kept: %s", error)
    return report
