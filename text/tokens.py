"""Token estimates without a tokenizer, of texts and of messages: for any chat model, in any script.

The estimate leans to the high side: an overfull prompt fails the turn, a slightly smaller one does not. It is fitted to
cl100k_base and o200k_base and covers both; tokenizers made for English only split other scripts further than this.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil
from typing import Any, Final

from langchain_core.messages import BaseMessage

Count = Callable[[str], int]
"""What counts the tokens of a text."""

MESSAGE_OVERHEAD: Final = 4
"""Tokens that a chat template adds around each message."""

BINARY_BLOCK: Final = 1600
"""Tokens counted for an image or another binary block, whatever its size: what the dearest common providers take."""

_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Blocks that a provider wants back as they were."""

_BINARY_KINDS: Final = frozenset({"image", "image_url", "audio", "video", "file", "media", "document"})
_BINARY_KEYS: Final = ("data", "base64", "file_data", "blob")
_CALL_KINDS: Final = frozenset({"tool_use", "tool_call", "input_json_delta", "function_call"})

_HUMPS: Final = (
    r"'(?:s|t|re|ve|m|ll|d)\b|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]"
    r"|[ \t]{2,}|[\n\r]+|[!-/:-@\[-`{-~]+|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_PIECES: Final = re.compile(r"[A-Za-z0-9]{16,}|" + _HUMPS)
_SPLIT: Final = re.compile(_HUMPS)
_CODED: Final = re.compile(r"[0-9][A-Za-z]+[0-9]")

_CODED_WEIGHT: Final = 0.88
_LONG_WORD: Final = 24
_LONG_WORD_WEIGHT: Final = 0.6

# Tokens of one character from each code point on; ASCII is counted by words.
_WEIGHTS: Final[tuple[tuple[int, float], ...]] = (
    (0x0000, 0.0), (0x0080, 1.0), (0x00C0, 1.6), (0x0250, 1.5), (0x0370, 1.05), (0x0400, 0.75), (0x0530, 1.6),
    (0x0590, 1.35), (0x0600, 0.95), (0x0700, 2.0), (0x0900, 1.2), (0x0980, 1.6), (0x0E00, 1.15), (0x0E80, 2.2),
    (0x1E00, 1.5), (0x1F00, 2.0), (0x2000, 1.0), (0x2070, 1.5), (0x2500, 2.0), (0x3000, 1.2), (0x3100, 2.0),
    (0x3400, 3.0), (0x4E00, 1.6), (0xA000, 2.5), (0xAC00, 1.45), (0xD7B0, 3.0), (0xFE00, 2.0), (0xFF00, 1.3),
    (0xFFF0, 2.0), (0x10000, 3.0), (0x20000, 4.0),
)  # fmt: skip
_STARTS: Final = [start for start, _ in _WEIGHTS]


def estimate_tokens(text: str) -> int:
    """About how many tokens a chat model sees in a text, rather too many than too few; 0 only for an empty text."""
    if not text:
        return 0
    total = sum(_piece_cost(piece) * count for piece, count in Counter(_PIECES.findall(text)).items())
    if not text.isascii():
        total += sum(_weight(char) * count for char, count in Counter(text).items() if char > "\x7f")
    return max(1, ceil(total))


def is_longer(text: str, limit: int) -> bool:
    """Whether a text is of more tokens than this; a short and a very long one are not counted."""
    return len(text) > limit and (len(text) > 16 * limit or estimate_tokens(text) > limit)


@lru_cache(maxsize=50_000)
def _piece_cost(piece: str) -> float:
    if len(piece) >= 16 and piece.isalnum():
        if _CODED.search(piece):
            return len(piece) * _CODED_WEIGHT
        return sum(_short_cost(part) for part in _SPLIT.findall(piece))
    return _short_cost(piece)


def _short_cost(piece: str) -> float:
    size, first = len(piece), piece[0]
    if first.isalpha():
        return size * _LONG_WORD_WEIGHT if size > _LONG_WORD else 1 + max(0, ceil((size - 6) / 4))
    if first in " \t":
        return ceil(size / 16)
    if first in "\n\r":
        return ceil(size / 4)
    return 1 if first == "'" and size > 1 and piece[1].isalpha() else ceil(size / 2)


@lru_cache(maxsize=20_000)
def _weight(char: str) -> float:
    return _WEIGHTS[bisect_right(_STARTS, ord(char)) - 1][1]


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
    fields = vars(message)
    calls, broken, name = fields.get("tool_calls"), fields.get("invalid_tool_calls"), fields.get("name")
    if not (calls or broken or name) and isinstance(fields["content"], str):  # most, hundreds of times a turn
        return count(fields["content"])
    calls = [*(calls or ()), *(broken or ())]
    cost = count(name) if name else 0
    return cost + count_json_tokens(calls, count) + _content_cost(fields["content"], count, has_calls=bool(calls))


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
