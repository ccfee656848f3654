"""Tools: each call that the model made is run, and its result goes back to the model.

Each call is a task of its own in the graph, so that a turn that is resumed, after a crash or an `interrupt` in a tool,
does not run those again that had ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from langchain_core.messages import AnyMessage, ToolCall

from ..runtime.tool_call import error_message, run_tool
from ..runtime.toolbox import Toolbox
from ..runtime.turn import Turn
from ..settings.settings import Settings
from ..state.tool_calls import count_rounds, open_calls

_ENOUGH = "Error: not run, this turn has had its {rounds} rounds of tool calls. Answer with what you have."
_UNREADABLE = "Error: not run, the arguments are not whole JSON: {arguments}"
_SHOWN = 500


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
        return {"messages": [error_message(call, task["refusal"])]}
    return await run_tool(call, turn)
