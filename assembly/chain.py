"""The chain as a provider takes it: clean messages, tool calls with their results, roles in turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    ToolMessage,
)

from ..prompts import context as words
from ..state.chain import is_instruction, is_summary
from ..state.messages import (
    content_text,
    is_empty,
    message_text,
    role_of,
)
from ..text.replies import is_canned
from ..text.tokens import is_binary_block

Content = str | list[str | dict[str, Any]]

_TEXT_KINDS: Final = frozenset({"text", "input_text", "output_text"})

_NO_NAME: Final = re.compile(r"[\s<>|\\/]+")
"""What OpenAI refuses in the name of a speaker."""


class ChainParts(NamedTuple):
    """The live chain taken apart; `earlier` holds messages and summaries in their order, `tail` is after the question.

    A unit is one message, or a call of tools together with all of its results.
    """

    written: str
    earlier: list[list[AnyMessage]]
    question: AnyMessage | None
    tail: list[list[AnyMessage]]


def take_apart(chain: Sequence[AnyMessage], turn_before: str | None = None) -> ChainParts:
    """The chain as instructions, what was said earlier, the newest question, and what came after it.

    Left out are empty messages, results without their call, and calls without all of their results.

    Args:
        chain: the live chain.
        turn_before: the id of the message that began the turn before, to tell what failed there from what is new.
    """
    said = [_as_user(_tidied(message)) for message in chain]
    written = [text for m in said if is_instruction(m) and (text := message_text(m).strip())]
    # Many clients send their instructions again with each message: the newest of the same text stands.
    written = list(dict.fromkeys(reversed(written)))[::-1]
    spoken = [m for m in said if not (is_instruction(m) or is_empty(m))]
    asked = max((at for at, m in enumerate(spoken) if isinstance(m, HumanMessage)), default=len(spoken))
    return ChainParts(
        written="\n\n".join(written),
        earlier=list(_units(_without_refused_media([_in_three_roles(m) for m in spoken[:asked]], turn_before))),
        question=spoken[asked] if asked < len(spoken) else None,
        tail=list(_units([_in_three_roles(m) for m in spoken[asked + 1 :]])),
    )


def _units(messages: Sequence[AnyMessage]) -> Iterator[list[AnyMessage]]:
    """What may not be parted: each message alone, but a call of tools with the results that follow it.

    Of a call that has not all of its results only the text stays; a result without its call is left out.
    """
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if isinstance(message, ToolMessage):
            continue
        if not isinstance(message, AIMessage) or not (message.tool_calls or message.invalid_tool_calls):
            yield [message]
            continue
        results: dict[str, AnyMessage] = {}
        while at < len(messages) and isinstance(result := messages[at], ToolMessage):
            results.setdefault(result.tool_call_id, result)
            at += 1
        asked = [str(call["id"]) for call in message.tool_calls]
        if not message.invalid_tool_calls and asked and len(set(asked)) == len(asked) and set(asked) <= results.keys():
            yield [message, *(results[id_] for id_ in asked)]
        elif text := content_text(message.content).strip():
            yield [AIMessage(text, id=message.id)]


def in_turn(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages with neighbours of one role merged, as providers demand alternating roles."""
    merged: list[AnyMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is not None and _is_one_speaker(last, message):
            merged[-1] = message.model_copy(update={"content": joined(last.content, message.content), "name": None})
        else:
            merged.append(message)
    return merged


def _is_one_speaker(last: AnyMessage, message: AnyMessage) -> bool:
    if isinstance(last, HumanMessage):
        return isinstance(message, HumanMessage)
    return isinstance(last, AIMessage) and isinstance(message, AIMessage) and not last.tool_calls


def joined(first: Content, second: Content) -> Content:
    """Two contents as one: texts with an empty line between them, blocks one after the other."""
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    as_blocks = [[{"type": "text", "text": part}] if isinstance(part, str) else part for part in (first, second)]
    return [*as_blocks[0], *as_blocks[1]]


def with_media_named(message: AnyMessage) -> AnyMessage:
    """The message as text, with images and other binary blocks named instead of sent."""
    if isinstance(message.content, str) or not any(is_binary_block(block) for block in message.content):
        return message
    named: AnyMessage = message.model_copy(update={"content": content_text(message.content)})
    return named


def _tidied(message: AnyMessage) -> AnyMessage:
    """The message without what providers refuse: blank texts and blocks, odd names.

    A tool that returned nothing is described in words: an empty result is refused by some providers. What the offline
    model said is not shown: a model that follows would say it again.
    """
    if isinstance(message, AIMessage) and is_canned(message_text(message)):
        return message.model_copy(update={"content": words.NO_REPLY})
    update: dict[str, Any] = {}
    content = message.content
    tidy: Any = content if isinstance(content, str) else [block for block in content if not _is_blank(block)]
    if not tidy or (isinstance(tidy, str) and not tidy.strip()):
        tidy = words.NO_OUTPUT if isinstance(message, ToolMessage) else ""
    if tidy != content:
        update["content"] = tidy
    if message.name and _NO_NAME.search(message.name):
        update["name"] = _NO_NAME.sub("_", message.name)
    return message.model_copy(update=update) if update else message


def _is_blank(block: Any) -> bool:
    if isinstance(block, str):
        return not block.strip()
    return str(block.get("type")) in _TEXT_KINDS and not str(block.get("text") or "").strip()


def _in_three_roles(message: AnyMessage) -> AnyMessage:
    """A message of another role (agent, observer, function) as one that every provider takes, its role named."""
    if is_summary(message) or not isinstance(message, (ChatMessage, FunctionMessage)):
        return message
    role = role_of(message)
    text = message_text(message)
    if role == "assistant":
        return AIMessage(text, id=message.id)
    labelled = f"[{role}] {text}"
    return AIMessage(labelled, id=message.id) if role == "agent" else HumanMessage(labelled, id=message.id)


def _as_user(message: AnyMessage) -> AnyMessage:
    """A `ChatMessage` of the user as a `HumanMessage`."""
    if not isinstance(message, ChatMessage) or role_of(message) != "user":
        return message
    return HumanMessage(message.content, id=message.id)


def _without_refused_media(messages: Sequence[AnyMessage], turn_before: str | None) -> list[AnyMessage]:
    """The messages with images named instead of sent where no reply followed: the model failed on them before.

    Those that came in one input with the question wait for their reply: they are sent.
    """
    new = len(messages)
    while new and isinstance(messages[new - 1], HumanMessage) and messages[new - 1].id != turn_before:
        new -= 1
    following = [*messages, None][1:]
    return [
        with_media_named(message)
        if index < new and isinstance(message, HumanMessage) and (after is None or isinstance(after, HumanMessage))
        else message
        for index, (message, after) in enumerate(zip(messages, following, strict=True))
    ]


def opening(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """What stands before messages of which the first must be the user's; instructions alone are refused, too."""
    return [] if messages and isinstance(messages[0], HumanMessage) else [HumanMessage(words.BEGINS)]
