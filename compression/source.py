"""The text of a batch, as a summarizer is given it: turns of speaker and text, in parts that fit a window."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AIMessage, AnyMessage

from ..state.call_lines import without_calls
from ..state.chain import is_summary, summary_of
from ..state.messages import message_text, role_of
from ..text.extractive import extract_summary as extract
from ..text.replies import is_canned
from ..text.shorten import beginning, share_out, truncate_to_tokens
from ..text.tokens import estimate_tokens

Turns = Sequence[tuple[str, str]]
"""Speaker and text of each turn; a summary has no speaker."""

_ARGUMENTS: Final = 200
"""Characters of a tool call's arguments that are shown."""

_TURN_OVERHEAD: Final = 4


def turns_of(messages: Sequence[AnyMessage]) -> list[tuple[str, str]]:
    """What was said, who said it, and which tools were called with what; clean text, no metadata.

    What no model said is left out where there is anything else.
    """
    said = _meant(messages)
    return [("" if is_summary(message) else message.name or role_of(message), _told(message)) for message in said]


def covers_of(messages: Sequence[AnyMessage]) -> list[int]:
    """How many messages each of the turns stands for."""
    return [summary_of(message).covers if is_summary(message) else 1 for message in _meant(messages)]


def _meant(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    return [message for message in messages if not is_canned(message_text(message))] or messages


def holds_messages(messages: Sequence[AnyMessage]) -> bool:
    """Whether any of these is a message and no summary."""
    return any(not is_summary(message) for message in messages)


def holds_summaries(messages: Sequence[AnyMessage]) -> bool:
    """Whether any of these is a summary."""
    return any(is_summary(message) for message in messages)


def source_text(turns: Turns) -> str:
    """The turns as one text, a line each."""
    return "\n".join(f"{speaker}: {text}" if speaker else text for speaker, text in turns)


def in_parts(turns: Turns, room: int) -> list[list[tuple[str, str]]]:
    """The turns in parts of at most `room` tokens, in their order; a longer turn is divided. At least one part."""
    parts: list[list[tuple[str, str]]] = [[]]
    used = 0
    for speaker, text in turns:
        for piece in _pieces(text, room - _TURN_OVERHEAD - estimate_tokens(speaker)):
            cost = estimate_tokens(piece) + estimate_tokens(speaker) + _TURN_OVERHEAD
            if parts[-1] and used + cost > room:
                parts.append([])
                used = 0
            parts[-1].append((speaker, piece))
            used += cost
    return parts


def shortened_source(turns: Turns, most: int) -> list[tuple[str, str]]:
    """The turns within `most` tokens: where they are more, the long ones are shortened by the extractive summarizer."""
    costs = [estimate_tokens(text) + _TURN_OVERHEAD for _, text in turns]
    if sum(costs) <= most:
        return list(turns)
    return [
        (speaker, text if cost <= share else extract([("", text)], max(share - _TURN_OVERHEAD, 1)))
        for (speaker, text), cost, share in zip(turns, costs, share_out(costs, most), strict=True)
    ]


def _pieces(text: str, room: int) -> list[str]:
    """A text in pieces of at most `room` tokens, cut at word boundaries where one is near."""
    room = max(room, 16)
    pieces: list[str] = []
    while estimate_tokens(text) > room:
        head = truncate_to_tokens(text, room, mark="")
        if not head:
            break
        pieces.append(head)
        text = text[len(head) :].lstrip()
    return [*pieces, text] if text or not pieces else pieces


def _told(message: AnyMessage) -> str:
    text = message_text(message)
    if not isinstance(message, AIMessage) or not message.tool_calls:
        return text
    calls = [f"[calls {call['name']} {_arguments(call['args'])}]" for call in message.tool_calls]
    said = without_calls(text)
    return "\n".join([*([said] if said else []), *calls])


def _arguments(arguments: object) -> str:
    try:
        text = json.dumps(arguments, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = repr(arguments)
    return beginning(text, _ARGUMENTS)
