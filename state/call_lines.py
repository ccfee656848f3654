"""How calls of tools read in the text of a message: the archive's, which is searched, summarized and shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from langchain_core.messages import AIMessage

from ..text.shorten import one_line

_CALLS: Final = "[calls "
"""How a line begins that names a call whose arguments stand beside the text."""

_TRIES: Final = "[tried to call "
"""How one begins that holds what a model wrote for a call, where that is no JSON."""

_TRIED: Final = 200
"""Characters of arguments that are no JSON: the rest of a file that is written whole would drown what it is called."""


def with_calls(message: AIMessage, text: str) -> str:
    """The text of a message with its calls: those that can be read where it has no text, and those that cannot."""
    said = [text] if text.strip() else [f"{_CALLS}{call['name']}]" for call in message.tool_calls]
    return "\n".join([*said, *_tried(message)])


def without_calls(text: str) -> str:
    """The text without the lines that stand for calls whose arguments are told beside it; blank where that is all."""
    return "\n".join(line for line in text.split("\n") if not line.startswith(_CALLS)) if _CALLS in text else text


def tries(text: str) -> bool:
    """Whether one of its lines is a call that could not be read."""
    return text.startswith(_TRIES) or f"\n{_TRIES}" in text


def _tried(message: AIMessage) -> Iterator[str]:
    for call in message.invalid_tool_calls:
        yield f"{_TRIES}{call['name'] or 'a tool'}: {one_line(str(call['args'] or ''), _TRIED)}]"
