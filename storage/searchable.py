"""What a stored message is found by: its keyword terms and its vectors are made of this text, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import regex

from ..state.call_lines import without_calls

_VALUE: Final = 200
"""Characters of one argument of a call: a file that is written whole would drown what it is called."""

_ALL: Final = 1_000
"""Characters of all that the calls of one message add."""

_DEEP: Final = 4
"""Levels of lists and objects inside an argument that are read."""

_HUMP: Final = regex.compile(r"(?<=\p{Ll})(?=\p{Lu})")
"""Where a word begins in a name that is written asThis; other marks divide words as they stand."""


def searchable_text(row: Mapping[str, Any]) -> str:
    """The text by which a stored message or summary is found.

    To what it says come the tools that it calls, with names and values of their arguments as plain words, and to the
    result of a tool the tool's name.

    Args:
        row: `text`; of a message also `role` and `name`, and its tool calls: `calls`, or else the whole `message`.
    """
    text, role, name = row["text"], row.get("role"), row.get("name")
    if role == "tool":
        return f"{_words(name)}: {text}" if name else text
    called = "\n".join(_called(call) for call in calls_of(row))[:_ALL]
    if not called:
        return str(text)
    said = without_calls(text)
    return f"{said}\n{called}" if said.strip() else called


def calls_of(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls of tools of a row, as `searchable_text` takes it; it may be damaged."""
    if "calls" in row:
        calls = row["calls"]
    else:
        message = row.get("message")
        data = message.get("data") if isinstance(message, Mapping) else None
        calls = data.get("tool_calls") if isinstance(data, Mapping) else None
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def _called(call: Mapping[str, Any]) -> str:
    arguments = call.get("args")
    said = " ".join(_said(arguments, _DEEP)) if isinstance(arguments, Mapping) else ""
    return f"{_words(call.get('name'))}: {said}".rstrip(": ")


def _said(value: Any, deep: int) -> Iterator[str]:
    if isinstance(value, Mapping) and deep:
        for key, inner in sorted(value.items()):  # a storage keeps them in its own order
            yield _words(key)
            yield from _said(inner, deep - 1)
    elif isinstance(value, list) and deep:
        for inner in value:
            yield from _said(inner, deep - 1)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)[:_VALUE]


def _words(name: object) -> str:
    """A name as it is written, and where that is one long word of several, these."""
    written = str(name or "")[:_VALUE]
    divided = _HUMP.sub(" ", written)
    return written if divided == written else f"{written} {divided}"
