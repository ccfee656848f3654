"""Calls of tools and their results in a chain of messages: which are open, and how a chain is made whole again.

Providers refuse a list of messages in which a call has no result, or a result no call before it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

from .records import EVERTHREAD_NAMESPACE

NO_RESULT: Final = "Error: no result, the call was interrupted before it ended."
"""What stands in the place of a result that never came."""

_STAND_IN_KEY: Final = "everthread_stand_in"
_UNREADABLE_ARGS_KEY: Final = "everthread_unreadable_args"


def open_calls(messages: Sequence[AnyMessage]) -> list[ToolCall]:
    """The calls at the end of a chain that have no result yet."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
            continue
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        return [call for call in calls if call["id"] not in answered]
    return []


def count_rounds(messages: Sequence[AnyMessage]) -> int:
    """How many rounds of tool calls came after the user's newest message."""
    rounds = 0
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        rounds += isinstance(message, AIMessage) and bool(message.tool_calls)
    return rounds


def with_results(messages: Sequence[AnyMessage], *, to_the_end: bool = False) -> list[AnyMessage]:
    """The chain with a stand-in for each result that never came, and a result that came late in its place.

    Args:
        messages: the chain.
        to_the_end: whether the calls at the very end, too, get a stand-in; else their results may still come.
    """
    late = _late_results(messages)
    whole: list[AnyMessage] = []
    pending: dict[str, AnyMessage] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            call_id = message.tool_call_id
            if _is_stand_in(message) and call_id in late:
                whole.append(late[call_id])
                pending.pop(call_id, None)
            elif message is not late.get(call_id):
                whole.append(message)
                pending.pop(call_id, None)
            continue
        whole += [_stand_in(asked, call_id) for call_id, asked in pending.items()]
        pending = {str(call["id"]): message for call in message.tool_calls} if isinstance(message, AIMessage) else {}
        whole.append(message)
    if to_the_end:
        whole += [_stand_in(asked, call_id) for call_id, asked in pending.items()]
    return whole


def paired(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages as providers accept them: each call with its results, and no result without its call."""
    kept: list[AnyMessage] = []
    called: set[str] = set()
    for message in with_results(messages, to_the_end=True):
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in called:
                continue
            called.discard(message.tool_call_id)
        else:
            called = {str(call["id"]) for call in message.tool_calls} if isinstance(message, AIMessage) else set()
        kept.append(message)
    return kept


def mark_unreadable(reply: AIMessage, arguments: Mapping[str, str]) -> AIMessage:
    """The reply with what its model wrote as arguments of the calls, by their ids, that could not be read."""
    return reply.model_copy(
        update={"additional_kwargs": {**reply.additional_kwargs, _UNREADABLE_ARGS_KEY: dict(arguments)}}
    )


def unreadable_arguments(reply: AnyMessage) -> Mapping[str, str]:
    """By their ids, the arguments of those calls that could not be read."""
    found: Mapping[str, str] = reply.additional_kwargs.get(_UNREADABLE_ARGS_KEY) or {}
    return found


def _late_results(messages: Sequence[AnyMessage]) -> dict[str, ToolMessage]:
    """Results that came after a stand-in had taken their place, by the id of their call."""
    stood_in: set[str] = set()
    late: dict[str, ToolMessage] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            # An id may come again; then it is another call.
            stood_in -= {str(call["id"]) for call in message.tool_calls}
        elif isinstance(message, ToolMessage):
            if _is_stand_in(message):
                stood_in.add(message.tool_call_id)
            elif message.tool_call_id in stood_in:
                late[message.tool_call_id] = message
    return late


def _is_stand_in(message: AnyMessage) -> bool:
    return bool(message.additional_kwargs.get(_STAND_IN_KEY))


def _stand_in(asked: AnyMessage, call_id: str) -> ToolMessage:
    calls = asked.tool_calls if isinstance(asked, AIMessage) else []
    name = next((call["name"] for call in calls if call["id"] == call_id), None)
    return ToolMessage(
        NO_RESULT,
        id=str(uuid.uuid5(EVERTHREAD_NAMESPACE, "\x1f".join(["result", str(asked.id), call_id]))),
        tool_call_id=call_id,
        name=name,
        status="error",
        additional_kwargs={_STAND_IN_KEY: True},
    )
