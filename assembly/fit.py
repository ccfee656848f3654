"""Making one thing smaller: a message, a unit of messages, a text, so that it fits a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage

from ..models.counting import TokenCounter
from ..prompts import context as words
from ..state.messages import content_text
from ..text.shorten import ELLIPSIS, beginning, middle_out, share_out
from ..text.tokens import is_binary_block
from .chain import with_media_named

CHARACTERS_A_TOKEN: Final = 32
"""More characters than this for each token of the budget are cut before anything is counted."""

_LEAST: Final = 8
"""Tokens of text that a message keeps in any case."""

_SHORT_ARGUMENT: Final = 120
"""Characters of an argument of a tool call that are never cut."""

_ARGUMENTS: Final = 2000
"""Characters of the arguments of one call, with their names, that are kept where they have to be cut."""


def fit_message(message: AnyMessage, limit: int, counter: TokenCounter) -> AnyMessage:
    """The message in at most `limit` tokens, as far as its text and images can shrink.

    Of a text head and end stay, for the request mostly stands in one of them. Images are kept, the newest first, in
    half of the room and what the text leaves of the rest; others are named.
    """
    if counter.messages([message]) <= limit:
        return message
    content = message.content
    bare: AnyMessage = message.model_copy(update={"content": ""})
    if isinstance(message, AIMessage) and message.tool_calls:
        bare = bare.model_copy(update={"tool_calls": [_light_call(call) for call in message.tool_calls]})
    room = max(_LEAST, limit - counter.messages([bare]))
    images = [] if isinstance(content, str) else _images_that_fit(content, room, bare, counter)
    room -= counter.messages([bare.model_copy(update={"content": images})]) - counter.messages([bare]) if images else 0
    text = counter.truncate(content_text(_without(content, images)), max(_LEAST, room), "both")
    new: Any = [{"type": "text", "text": text}, *images] if images else text
    fitted: AnyMessage = bare.model_copy(update={"content": new})
    return fitted


def fit_unit(unit: Sequence[AnyMessage], limit: int, counter: TokenCounter) -> list[AnyMessage]:
    """The messages of a unit in about `limit` tokens together: images are named, then the longest texts are cut.

    Calls of tools can hardly be made smaller: what they take beyond their share, the results give.
    """
    if counter.messages(unit) <= limit:
        return list(unit)
    light = [with_media_named(message) for message in unit]
    costs = [counter.messages([message]) for message in light]
    shares = share_out(costs, limit)
    for at, message in enumerate(light):
        if costs[at] > shares[at] and isinstance(message, AIMessage) and message.tool_calls:
            light[at] = fit_message(message, shares[at], counter)
            costs[at] = counter.messages([light[at]])
            if costs[at] > shares[at]:
                rest = share_out([*costs[:at], *costs[at + 1 :]], limit - costs[at])
                shares = [*rest[:at], costs[at], *rest[at:]]
    return [
        message if cost <= share else fit_message(message, share, counter)
        for message, cost, share in zip(light, costs, shares, strict=True)
    ]


def bounded_message(message: AnyMessage, budget: int) -> AnyMessage:
    """The message without the middle of a text that cannot fit into the budget by far."""
    content: Any = message.content
    limit = CHARACTERS_A_TOKEN * max(budget, 1)
    if isinstance(content, str):
        short: Any = middle_out(content, limit, words.CUT)
        same = len(short) == len(content)
    else:
        short = [
            {**block, "text": middle_out(block["text"], limit, words.CUT)}
            if isinstance(block, dict) and isinstance(block.get("text"), str)
            else block
            for block in content
        ]
        same = short == content
    if same:
        return message
    cut: AnyMessage = message.model_copy(update={"content": short})
    return cut


def is_cut(before: Sequence[AnyMessage], after: Sequence[AnyMessage]) -> bool:
    """Whether fitting changed any message."""
    return any(old is not new for old, new in zip(before, after, strict=True))


def _images_that_fit(content: Sequence[Any], room: int, bare: AnyMessage, counter: TokenCounter) -> list[Any]:
    empty = counter.messages([bare])
    # The text with every image named, which is its longest form.
    room = max(room // 2, room - counter.messages([bare.model_copy(update={"content": content_text(content)})]) + empty)
    kept: list[Any] = []
    for block in reversed(content):
        if is_binary_block(block):
            more = [block, *kept]
            if counter.messages([bare.model_copy(update={"content": more})]) - empty > room:
                break
            kept = more
    return kept


def _without(content: Any, images: Sequence[Any]) -> Any:
    if isinstance(content, str):
        return content
    return [block for block in content if not any(block is image for image in images)]


def _light_call(call: Any) -> Any:
    """A tool call with its long arguments cut: they are there for the record, the tool has run."""
    args: dict[str, Any] = {}
    left = _ARGUMENTS
    for name, value in call["args"].items():
        light = _light_argument(value)
        left -= len(name) + len(str(light))
        if left < 0:
            args[ELLIPSIS] = f"{len(call['args']) - len(args)} more"
            break
        args[name] = light
    return {**call, "args": args}


def _light_argument(value: Any) -> Any:
    text = value if isinstance(value, str) else str(value)
    return value if len(text) <= _SHORT_ARGUMENT else beginning(text, _SHORT_ARGUMENT)
