"""One call of a tool: run within its time, and whatever it does, the turn goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage, ToolCall, ToolMessage
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from ..settings.settings import Settings
from ..state.errors import first_line
from ..state.messages import cleaned
from .asked_by_tool import running_tool
from .turn import Turn

logger = logging.getLogger(__name__)

Outcome = ToolMessage | Command[Any]


async def run_tool(call: ToolCall, turn: Turn) -> Any:
    """What a call brings: an update of the state, or a list of updates and commands of LangGraph's."""
    node = ToolNode(
        turn.resources.toolbox.executable,
        handle_tool_errors=_error_text,
        awrap_tool_call=_bounded(turn.settings),
    )
    with running_tool(turn.thread_id):
        output = await node.ainvoke([{**call, "type": "tool_call"}], turn.config)
    return [_kept(part) for part in output] if isinstance(output, list) else _kept(output)


def error_message(call: ToolCall, text: str) -> ToolMessage:
    """The result of a call that failed."""
    return ToolMessage(text, tool_call_id=str(call["id"]), name=call["name"], status="error")


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
            return error_message(request.tool_call, f"Error: the tool {name!r} gave no result in {limit:g} s.")
        except (SystemExit, asyncio.CancelledError) as error:
            # A tool may raise these itself: a script's exit, a client's cancelled scope. A cancelled turn is not that.
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            return error_message(request.tool_call, f"Error: the tool {name!r} ended with {type(error).__name__}.")

    return run


def _error_text(error: Exception) -> str:
    """What the model sees of an error."""
    return f"Error: {type(error).__name__}: {first_line(error)}"
