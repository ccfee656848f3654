"""Tools: each call that the model made is run, and its result goes back to the model.

Each call is a task of its own in the graph, so that a turn that is resumed, after a crash or an `interrupt` in a tool,
does not run those again that had ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from langchain_core.messages import AnyMessage, BaseMessage, ToolCall, ToolMessage
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from ..runtime.toolbox import Toolbox
from ..runtime.turn import Turn
from ..settings.settings import Settings
from ..state.errors import first_line
from ..state.messages import cleaned
from ..state.tool_calls import count_rounds, open_calls

logger = logging.getLogger(__name__)

_ENOUGH = "Error: not run, this turn has had its {rounds} rounds of tool calls. Answer with what you have."
_UNREADABLE = "Error: not run, the arguments are not whole JSON: {arguments}"
_SHOWN = 500

Outcome = ToolMessage | Command[Any]


class ToolTask(TypedDict):
    """One call to be run, or why it is not."""

    call: ToolCall
    refusal: str | None


def tool_tasks(
    messages: Sequence[AnyMessage], unreadable: Mapping[str, str], settings: Settings, toolbox: Toolbox
) -> list[ToolTask]:
    """What the node has to do: one task for each open call at the end of the chain that is answered here."""
    enough = _ENOUGH.format(rounds=settings.max_tool_rounds)
    over = count_rounds(messages) > settings.max_tool_rounds
    tasks = []
    for call in open_calls(messages):
        if not toolbox.runs(call["name"]):
            continue
        arguments = unreadable.get(str(call["id"]))
        broken = None if arguments is None else _UNREADABLE.format(arguments=arguments[:_SHOWN])
        tasks.append(ToolTask(call=call, refusal=enough if over else broken))
    return tasks


async def tools(task: ToolTask, turn: Turn) -> Any:
    """Run one call. Whatever the tool does, the turn goes on: the model sees what went wrong.

    An `interrupt` in a tool is not a failure; it stops the turn until it is answered.
    """
    call = task["call"]
    if task["refusal"] is not None:
        return {"messages": [_error_message(call, task["refusal"])]}
    node = ToolNode(
        turn.resources.toolbox.executable,
        handle_tool_errors=_told,
        awrap_tool_call=_bounded(turn.settings),
    )
    output = await node.ainvoke([{**call, "type": "tool_call"}], turn.config)
    return [_kept(part) for part in output] if isinstance(output, list) else _kept(output)


def _kept(part: Any) -> Any:
    """A part of what the tools return, with messages that can be checkpointed."""
    update = part.update if isinstance(part, Command) else part
    if not isinstance(update, dict) or not isinstance(update.get("messages"), list):
        return part
    kept = {**update, "messages": [cleaned(m) if isinstance(m, BaseMessage) else m for m in update["messages"]]}
    return replace(part, update=kept) if isinstance(part, Command) else kept


def _bounded(
    settings: Settings,
) -> Callable[[ToolCallRequest, Callable[[ToolCallRequest], Awaitable[Outcome]]], Awaitable[Outcome]]:
    """A wrapper that bounds a call's time, and turns what would end the process or the task into an error.

    A tool that asks for its `ToolRuntime` finds the settings of this run as its context, also where the run was given
    no context, or one that is laid over other settings; and the authenticated user in them, not the one claimed.
    """
    limit = settings.timeouts.tool

    async def run(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Outcome]]) -> Outcome:
        task, name = asyncio.current_task(), request.tool_call["name"]
        runtime: Any = request.runtime
        request = replace(request, runtime=replace(runtime, context=settings))
        clock = asyncio.timeout(limit)
        try:
            async with clock:
                return await execute(request)
        except TimeoutError:
            if not clock.expired():
                raise
            logger.warning("The tool %r was given up after %g s.", name, limit)
            return _error_message(request.tool_call, f"Error: the tool {name!r} gave no result in {limit:g} s.")
        except (SystemExit, asyncio.CancelledError) as error:
            # A tool may raise these itself: a script's exit, a client's cancelled scope. A cancelled turn is not that.
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            return _error_message(request.tool_call, f"Error: the tool {name!r} ended with {type(error).__name__}.")

    return run


def _told(error: Exception) -> str:
    """What the model sees of an error."""
    return f"Error: {type(error).__name__}: {first_line(error)}"


def _error_message(call: ToolCall, text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=str(call["id"]), name=call["name"], status="error")
