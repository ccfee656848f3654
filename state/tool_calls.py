"""Calls of tools and their results in a chain of messages: which are open, and how a chain is made whole again.

Providers refuse a list of messages in which a call has no result, or a result no call before it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from itertools import takewhile
from typing import Final, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

from .records import EVERTHREAD_NAMESPACE

NO_RESULT: Final = "Error: no result, the call was interrupted before it ended."
"""What stands in for a result that never came."""


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


def ends_with_reply(messages: Sequence[AnyMessage]) -> bool:
    """Whether the last message is a reply that calls no tool."""
    return bool(messages) and isinstance(messages[-1], AIMessage) and not open_calls(messages)


def newest_results(messages: Sequence[AnyMessage]) -> list[ToolMessage]:
    """The results at the end of a chain."""
    results = list(takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages)))
    return cast("list[ToolMessage]", results[::-1])


def count_rounds(messages: Sequence[AnyMessage]) -> int:
    """How many rounds of tool calls came after the user's newest message."""
    rounds = 0
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        rounds += isinstance(message, AIMessage) and bool(message.tool_calls)
    return rounds


def with_results(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages with each result behind its call, and a stand-in for each that never came.

    A result that comes late takes the place of its stand-in. A second one, and one without a call, stay where they are.
    """
    return [message for group in _groups(messages) for message in _expanded(group, stand_ins=True)]


def results_in_place(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages with each result behind its call, wherever it came."""
    return [message for group in _groups(messages) for message in _expanded(group, stand_ins=False)]


def _groups(messages: Sequence[AnyMessage]) -> list[AnyMessage | _Asked]:
    asked: list[_Asked] = []
    groups: list[AnyMessage | _Asked] = []
    current: _Asked | None = None
    for message in messages:
        if isinstance(message, ToolMessage):
            if not any(group.take(message, is_open=group is current) for group in _with_call(asked, message)):
                groups.append(message)
            continue
        if current is not None:
            current.close()
        groups.append(message)
        current = _Asked(message) if isinstance(message, AIMessage) and message.tool_calls else None
        if current is not None:
            asked.append(current)
            groups.append(current)
    if current is not None:
        current.close()
    return groups


def _expanded(group: AnyMessage | _Asked, *, stand_ins: bool) -> list[AnyMessage]:
    return group.results(stand_ins=stand_ins) if isinstance(group, _Asked) else [group]


def results_after_calls(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages as providers accept them: each call with its results, and no result without its call."""
    kept: list[AnyMessage] = []
    called: set[str] = set()
    for message in with_results(messages):
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in called:
                continue
            called.discard(message.tool_call_id)
        else:
            called = {str(call["id"]) for call in message.tool_calls} if isinstance(message, AIMessage) else set()
        kept.append(message)
    return kept


class _Asked:
    """The calls of one message, and what came back."""

    def __init__(self, message: AIMessage) -> None:
        self.message = message
        self.ids = [str(call["id"]) for call in message.tool_calls]
        self._came: dict[str, ToolMessage | None] = {}

    def take(self, result: ToolMessage, *, is_open: bool) -> bool:
        """Whether the result is taken: it is the first."""
        call_id = result.tool_call_id
        known = self._came.get(call_id)
        if known is not None or not (is_open or call_id in self._came):
            return False
        self._came[call_id] = result
        return True

    def close(self) -> None:
        """What has not come by now is stood in for."""
        for call_id in self.ids:
            self._came.setdefault(call_id, None)

    def results(self, *, stand_ins: bool) -> list[AnyMessage]:
        """The results, and stand-ins for those that never came, in the order in which they came."""
        found = self._came.items()
        return [result or _stand_in(self.message, call_id) for call_id, result in found if result or stand_ins]


def _with_call(asked: Sequence[_Asked], result: ToolMessage) -> list[_Asked]:
    """The newest that made the call of this result: an id may come again, then it is another call."""
    return [group for group in reversed(asked) if result.tool_call_id in group.ids][:1]


def _stand_in(asked: AnyMessage, call_id: str) -> ToolMessage:
    calls = asked.tool_calls if isinstance(asked, AIMessage) else []
    name = next((call["name"] for call in calls if call["id"] == call_id), None)
    return ToolMessage(
        NO_RESULT,
        id=str(uuid.uuid5(EVERTHREAD_NAMESPACE, "\x1f".join(["result", str(asked.id), call_id]))),
        tool_call_id=call_id,
        name=name,
        status="error",
    )
