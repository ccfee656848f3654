"""`visible`: the newest part of a conversation, which the state holds for clients to show. The archive has it whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

_SLACK: Final = 1.25
"""The messages may grow by so much before they are cut to their number, so that they are not cut each turn."""


_VISIBLE_BYTES: Final = 1_000_000
"""Bytes of text of the messages that the state holds, about."""


def visible(messages: Sequence[AnyMessage], count: int) -> list[AnyMessage]:
    """The messages, or the newest of them where they are too many or too large; they begin with one of the user's.

    The newest turn is always among them, whole.

    Args:
        messages: of a turn that has come to its end.
        count: messages, about.
    """
    sizes = [_size(message) for message in messages]
    if len(messages) <= count * _SLACK and sum(sizes) <= _VISIBLE_BYTES * _SLACK:
        return list(messages)
    asked = [index for index, message in enumerate(messages) if isinstance(message, HumanMessage)]
    newest = asked[-1] if asked else len(messages) - 1
    start = len(messages)
    used = 0
    while start > 0 and (
        start > newest or (len(messages) - start < count and used + sizes[start - 1] <= _VISIBLE_BYTES)
    ):
        start -= 1
        used += sizes[start]
    start = next((index for index in asked if index >= start), newest)
    return list(messages[start:])


def _size(message: AnyMessage) -> int:
    """Bytes of a message, about."""
    content = message.content
    text = content if isinstance(content, str) else str(content)
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size + len(str(message.artifact or "")) if isinstance(message, ToolMessage) else size
