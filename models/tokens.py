"""How many tokens messages take in a prompt: their texts, names and tool calls, and their images."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage

from ..text.tokens import Count, estimate_tokens

MESSAGE_OVERHEAD: Final = 4
"""Tokens that a chat template adds around each message."""

BINARY_BLOCK: Final = 1600
"""Tokens counted for an image or another binary block, whatever its size: what the dearest common providers take."""

_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Blocks that a provider wants back as they were."""

_BINARY_KINDS: Final = frozenset({"image", "image_url", "audio", "video", "file", "media", "document"})
_BINARY_KEYS: Final = ("data", "base64", "file_data", "blob")
_CALL_KINDS: Final = frozenset({"tool_use", "tool_call", "input_json_delta", "function_call"})


def count_message_tokens(
    messages: Sequence[BaseMessage], count: Count = estimate_tokens, *, overhead: int = MESSAGE_OVERHEAD
) -> int:
    """About how many tokens messages take in a prompt: texts, names, tool calls, and a flat sum for each image.

    Metadata of a message is not sent, and not counted.

    Args:
        messages: any messages.
        count: what counts a text.
        overhead: tokens that the chat template adds around each message.
    """
    return sum(_message_cost(message, count) + overhead for message in messages)


def count_json_tokens(value: Any, count: Count = estimate_tokens) -> int:
    """About how many tokens a value takes that is sent as JSON: the arguments of a call, the definition of a tool."""
    if not value:
        return 0
    try:
        return count(json.dumps(value, ensure_ascii=False, default=str))
    except (TypeError, ValueError, RecursionError):
        return count(repr(value))


def is_binary_block(block: Any) -> bool:
    """Whether a content block holds or names an image, a sound, a file: something that is not read as text."""
    if not isinstance(block, dict):
        return False
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") == "text":
        return False
    if _kind(block) in _THOUGHTS:
        return False
    return _kind(block) in _BINARY_KINDS or any(key in block for key in _BINARY_KEYS)


def _message_cost(message: BaseMessage, count: Count) -> int:
    calls: list[Any] = []
    if isinstance(message, AIMessage):
        calls = [*message.tool_calls, *message.invalid_tool_calls]
    cost = count(message.name) if message.name else 0
    return cost + count_json_tokens(calls, count) + _content_cost(message.content, count, has_calls=bool(calls))


def _content_cost(content: Any, count: Count, *, has_calls: bool = False) -> int:
    if isinstance(content, str):
        return count(content)
    if isinstance(content, dict):
        return _block_cost(content, count, has_calls=has_calls)
    if isinstance(content, (list, tuple)):
        return sum(_content_cost(block, count, has_calls=has_calls) for block in content)
    return 0


def _block_cost(block: dict[str, Any], count: Count, *, has_calls: bool) -> int:
    kind = _kind(block)
    if has_calls and kind in _CALL_KINDS:
        return 0
    if is_binary_block(block):
        return BINARY_BLOCK
    if kind == "tool_result":
        return _content_cost(block.get("content"), count)
    for key in ("text", "thinking", "reasoning"):
        if isinstance(block.get(key), str):
            return count(block[key])
    return count_json_tokens(block, count)


def _kind(block: dict[str, Any]) -> str:
    return str(block.get("type", "")).removeprefix("input_").removeprefix("output_")
