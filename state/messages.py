"""Messages: their text, their role, summaries among them, and the reducer of the live chain.

Text from the outside may hold NUL (Postgres refuses it), lone surrogates (no encoder takes them), or be a list of
content blocks. It is cleaned once, where it enters the state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES, Messages, add_messages

from .errors import InputError, first_line
from .records import Role, Summary
from .storable import storable
from .tool_calls import with_results

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_ROLES: Final[dict[str, Role]] = {
    "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "system": "system",
    "developer": "system", "tool": "tool", "function": "tool", "agent": "agent", "observer": "observer",
}  # fmt: skip
_SUMMARY_KEY: Final = "everthread_summary"
_COVERED_KEY: Final = "everthread_covered"
_KEPT_KEY: Final = "everthread_kept"
_COMMAND_KEY: Final = "everthread_command"
_UNREADABLE_KEY: Final = "everthread_unreadable"


def clean_text(text: str) -> str:
    """The text without NUL, and with each lone surrogate replaced by U+FFFD; surrogate pairs become one character."""
    if not _UNSTORABLE.search(text):
        return text
    paired = text.replace("\x00", "").encode("utf-16", "surrogatepass")
    return paired.decode("utf-16", "replace")


def clean(value: Any) -> Any:
    """`clean_text` for every string inside lists, tuples and dictionaries; the value itself where all are clean."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        cleaned: Any = {clean(key): clean(item) for key, item in value.items()}
        same = len(cleaned) == len(value) and all(
            old is new and value[old] is cleaned[new] for old, new in zip(value, cleaned, strict=True)
        )
        return value if same else cleaned
    if isinstance(value, (list, tuple)):
        items = [clean(item) for item in value]
        return value if all(old is new for old, new in zip(value, items, strict=True)) else type(value)(items)
    return value


def content_text(content: Any) -> str:
    """The readable text of a message's content: a string, a list of blocks (images become "[image]"), or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    return "\n".join(part for block in content if (part := _block_text(block)))


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    kind = str(block.get("type", ""))
    if kind in {"text", "input_text", "output_text", "text-plain"}:
        return str(block.get("text") or "")
    if kind in {"thinking", "reasoning", "tool_use", "tool_call", "input_json_delta", "redacted_thinking"}:
        return ""
    if kind == "tool_result":
        return content_text(block.get("content"))
    return f"[{kind.removeprefix('input_').removesuffix('_url') or 'block'}]"


def message_text(message: BaseMessage) -> str:
    """The readable text of a message; a message that only calls tools reads as its calls."""
    text = content_text(message.content)
    if not text.strip() and isinstance(message, AIMessage) and message.tool_calls:
        return "\n".join(f"[calls {call['name']}]" for call in message.tool_calls)
    return text


def role_of(message: BaseMessage) -> Role:
    """The archive's role of a message; the role of a `ChatMessage` decides where it is one of ours."""
    kind = message.role if isinstance(message, ChatMessage) else message.type
    return _ROLES.get(kind, "user")


def is_empty(message: BaseMessage) -> bool:
    """Whether there is nothing in a message: no text, no other block, no tool call.

    A tool's result never is: its call needs it, also where the tool returned nothing.
    """
    has_calls = isinstance(message, AIMessage) and bool(message.tool_calls or message.invalid_tool_calls)
    return not (message_text(message).strip() or has_calls or isinstance(message, ToolMessage))


def is_summary(message: BaseMessage) -> bool:
    """Whether this message of the chain is a summary that stands for others."""
    return _SUMMARY_KEY in message.additional_kwargs


def is_instruction(message: BaseMessage) -> bool:
    """Whether a message of the chain is the caller's own system message."""
    return role_of(message) == "system" and not is_summary(message)


def summary_message(summary: Summary) -> SystemMessage:
    """The message that stands in the chain for a summary's sources."""
    record = summary.model_dump(mode="json", exclude={"content", "id"})
    return SystemMessage(
        content=summary.content, id=summary.id, name="summary", additional_kwargs={_SUMMARY_KEY: record}
    )


def summary_of(message: BaseMessage) -> Summary:
    """The record behind a summary message.

    Raises:
        KeyError: the message is no summary.
    """
    record = message.additional_kwargs[_SUMMARY_KEY]
    return Summary(id=str(message.id), content=content_text(message.content), **record)


def mark_covered(message: AnyMessage) -> AnyMessage:
    """The message marked as one that a summary in the chain already stands for."""
    return _marked(message, _COVERED_KEY)


def mark_kept(message: AnyMessage) -> AnyMessage:
    """The message marked as one that is in a summary and stays in the chain beside it while it is recent."""
    return _marked(message, _KEPT_KEY)


def is_covered(message: BaseMessage) -> bool:
    """Whether a summary in the chain stands for a message, which only stays until the next turn."""
    return bool(message.additional_kwargs.get(_COVERED_KEY))


def unmarked(message: AnyMessage) -> AnyMessage:
    """The message without the marks of one that a summary has."""
    marks = {_COVERED_KEY, _KEPT_KEY}
    if not marks & message.additional_kwargs.keys():
        return message
    kwargs = {name: value for name, value in message.additional_kwargs.items() if name not in marks}
    bare: AnyMessage = message.model_copy(update={"additional_kwargs": kwargs})
    return bare


def is_kept(message: BaseMessage) -> bool:
    """Whether a message is in a summary of the chain already, and only stays because it is recent."""
    return bool(message.additional_kwargs.get(_KEPT_KEY))


def mark_command(message: AnyMessage) -> AnyMessage:
    """The message marked as a command in the chat, or the graph's own answer to one."""
    return _marked(message, _COMMAND_KEY)


def is_command(message: BaseMessage) -> bool:
    """Whether a message is a command or the answer to one: no part of the conversation."""
    return bool(message.additional_kwargs.get(_COMMAND_KEY))


def is_said(message: AnyMessage) -> bool:
    """Whether a message of the chain belongs into the archive."""
    return not (is_summary(message) or is_empty(message) or is_command(message))


def _marked(message: AnyMessage, key: str) -> AnyMessage:
    marked: AnyMessage = message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, key: True}})
    return marked


def live_chain(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The chain that goes to the model: without commands, and what a summary in it already stands for.

    Messages of the newest turn stay in the state until the next one, so that the caller finds the reply there.
    """
    return [m for m in messages if not (m.additional_kwargs.get(_COVERED_KEY) or is_command(m))]


def read_input(messages: Messages) -> list[AnyMessage]:
    """Messages as LangChain reads them (role and content, pairs, message objects), cleaned.

    Raises:
        InputError: a message has an unknown role or shape.
    """
    try:
        read = convert_to_messages(messages if isinstance(messages, list) else [messages])
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        reason = first_line(error)
        raise InputError(
            f"A message cannot be read: {reason}. Expected a role out of user, assistant, system, tool, and a content."
        ) from None
    return [cleaned(message) for message in read]


def check_input(messages: Sequence[BaseMessage]) -> None:
    """Refuse what cannot be answered.

    Raises:
        InputError: the newest message is the user's and empty, or one that could not be read.
    """
    newest = messages[-1] if messages else None
    if newest is None or not isinstance(newest, HumanMessage):
        return
    if unreadable := newest.additional_kwargs.get(_UNREADABLE_KEY):
        raise InputError(str(unreadable))
    if is_empty(newest):
        raise InputError("The message is empty. Expected text, an image or another content block: send one of these.")


def add_to_chain(left: Messages, right: Messages) -> Messages:
    """The reducer of `messages`: LangGraph's `add_messages` behind a cleaning.

    It never raises: an error in a reducer would come back each time the thread is read. A message that cannot be read
    becomes an empty one that says why, for `check_input` to find; empty messages are never sent to a model. A call of
    a tool whose result never came gets a stand-in as soon as something else is said.
    """
    try:
        incoming = read_input(right)
    except InputError as error:
        incoming = [HumanMessage("", additional_kwargs={_UNREADABLE_KEY: str(error)})]
    # LangGraph refuses to remove what is not there.
    known = {m.id for m in [*cast("list[AnyMessage]", left), *incoming] if not isinstance(m, RemoveMessage)}
    incoming = [
        message
        for message in incoming
        if not isinstance(message, RemoveMessage) or message.id == REMOVE_ALL_MESSAGES or message.id in known
    ]
    merged = add_messages(left, cast("Messages", incoming))
    return cast("Messages", with_results(cast("list[AnyMessage]", merged)))


def cleaned(message: BaseMessage) -> AnyMessage:
    """The message with clean text, and with nothing in it that checkpoint or archive cannot keep."""
    update = {
        name: kept
        for name in (
            "id",
            "content",
            "additional_kwargs",
            "response_metadata",
            "tool_calls",
            "tool_call_id",
            "name",
            "artifact",
        )
        if (value := getattr(message, name, None)) is not None and (kept := clean(storable(value))) is not value
    }
    if message.content is None:
        update["content"] = ""
    return cast("AnyMessage", message.model_copy(update=update) if update else message)


def newest_question(messages: Sequence[BaseMessage]) -> str:
    """The text of the user's newest message, or nothing."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return message_text(message).strip()
    return ""


def earlier_questions(messages: Sequence[BaseMessage]) -> list[str]:
    """The texts of the user's messages before the newest one, the oldest first; without those that hold no text."""
    texts = [message_text(message).strip() for message in messages if isinstance(message, HumanMessage)]
    return [text for text in texts[:-1] if text]
