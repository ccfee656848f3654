"""Messages: their text and role, how they are read and cleaned, and the reducer of the conversation.

Text from the outside may hold NUL (Postgres refuses it), lone surrogates (no encoder takes them), or be a list of
content blocks. It is cleaned once, where it enters the state.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakValueDictionary

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
)

from .block_names import block_name
from .call_lines import with_calls
from .errors import InputError, first_line
from .records import EVERTHREAD_NAMESPACE, Role
from .storable import storable

if TYPE_CHECKING:
    from langgraph.graph.message import Messages

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_ROLES: Final[dict[str, Role]] = {
    "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "system": "system",
    "developer": "system", "tool": "tool", "function": "tool", "agent": "agent", "observer": "observer",
}  # fmt: skip
_RESERVED: Final = "everthread_"
"""How keys of earlier versions begin among the additional_kwargs of messages; nobody may set them from outside."""

STOPPED_KEY: Final = "stopped"
"""Marks, in the `response_metadata` of a reply, that it was stopped: the message is what had been shown of it."""

_NOT_SAID: Final = frozenset({"everthread_summary", "everthread_command"})
"""Mark, in states of earlier versions, a summary that stood among the messages, and a command."""

_CLEANED: Final = frozenset(
    {"id", "content", "additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls", "tool_call_id",
     "name", "artifact", "usage_metadata"}
)  # fmt: skip
_LONGEST_ID: Final = 200
"""Characters of a message's id: an index takes no more than some thousand bytes."""

_CLEAN: Final[WeakValueDictionary[tuple[int, int], BaseMessage]] = WeakValueDictionary()
"""Messages that were cleaned, as long as anybody has them, by their id and that of their content in this process.

A message comes to several gates: the input, the node that made it, the reducer, which LangGraph runs for edges, too.
"""

logger = logging.getLogger(__name__)


def clean_text(text: str) -> str:
    """The text without NUL, and with each lone surrogate replaced by U+FFFD; surrogate pairs become one character."""
    if (text.isascii() and "\x00" not in text) or not _UNSTORABLE.search(text):
        return text
    paired = text.replace("\x00", "").encode("utf-16", "surrogatepass")
    return paired.decode("utf-16", "replace")


def clean(value: Any) -> Any:
    """`clean_text` for every string inside lists, tuples and dictionaries; the value itself where all are clean."""
    if isinstance(value, str):
        return clean_text(value)
    return value if _is_clean(value) else _cleaned_parts(value)


def _is_clean(value: Any) -> bool:
    """Whether no string inside a value needs to be cleaned, as far as JSON tells, which is quick."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return "\\u0000" not in text and not _UNSTORABLE.search(text)


def _cleaned_parts(value: Any) -> Any:
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
    """The readable text of a message's content: a string, a list of blocks, or nothing.

    An image becomes "[image]", a file that has a name "[file: minutes.pdf]": by it what was shared is found again.
    """
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
    named = f": {name}" if (name := block_name(block)) else ""
    return f"[{kind.removeprefix('input_').removesuffix('_url') or 'block'}{named}]"


def message_text(message: BaseMessage) -> str:
    """The readable text of a message; a message that only calls tools reads as its calls.

    Calls whose arguments are no JSON read as what the model tried.
    """
    text = content_text(message.content)
    if not isinstance(message, AIMessage) or not (message.tool_calls or message.invalid_tool_calls):
        return text
    return with_calls(message, text)


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
        InputError: the newest message is the user's and empty.
    """
    newest = messages[-1] if messages else None
    if isinstance(newest, HumanMessage) and is_empty(newest):
        raise InputError("The message is empty. Expected text, an image or another content block: send one of these.")


def add_said(left: Messages, right: Messages) -> Messages:
    """The reducer of `messages`: LangGraph's `add_messages` behind a cleaning.

    It never raises: an error in a reducer would come back each time the thread is read. A message that cannot be read
    is left out, and so is the removal of one that is not there. Summaries that earlier versions kept among the messages
    are left out as well: the archive has them.
    """
    from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

    try:
        incoming = read_input(right)
    except InputError as error:
        logger.warning("A message was left out of the conversation: %s", type(error).__name__)
        incoming = []
    before = _as_said(cast("list[AnyMessage]", left))
    if any(isinstance(message, RemoveMessage) for message in incoming):
        # LangGraph refuses to remove what is not there.
        known = {m.id for m in [*before, *incoming] if not isinstance(m, RemoveMessage)} | {REMOVE_ALL_MESSAGES}
        incoming = [m for m in incoming if not isinstance(m, RemoveMessage) or m.id in known]
    return add_messages(cast("Messages", before), cast("Messages", incoming))


def _as_said(messages: list[AnyMessage]) -> list[AnyMessage]:
    """The messages of a state without what earlier versions kept among and in them."""
    names = set[Any]().union(*(message.additional_kwargs for message in messages))
    if _RESERVED not in " ".join(map(str, names)):
        return messages
    return [unmarked(message) for message in messages if _NOT_SAID.isdisjoint(message.additional_kwargs)]


def unmarked(message: AnyMessage) -> AnyMessage:
    """The message without keys of ours among its additional_kwargs."""
    if not any(str(name).startswith(_RESERVED) for name in message.additional_kwargs):
        return message
    kept = {name: value for name, value in message.additional_kwargs.items() if not str(name).startswith(_RESERVED)}
    bare: AnyMessage = message.model_copy(update={"additional_kwargs": kept})
    return bare


def cleaned(message: BaseMessage) -> AnyMessage:
    """The message with clean text, and with nothing in it that checkpoint or archive cannot keep.

    What comes back is known to be clean, and is given back as it is where it comes to a gate again.
    """
    if _CLEAN.get((id(message), id(message.content))) is message:
        return cast("AnyMessage", message)
    update = {
        name: kept
        for name, value in vars(message).items()
        if value
        and name in _CLEANED
        and (kept := clean_text(value) if isinstance(value, str) else clean(storable(value))) is not value
    }
    content, id_ = update.get("content", message.content), update.get("id", message.id)
    if content is None:
        update["content"] = ""
    elif isinstance(content, list) and (blocks := _blocks(content)) != content:
        update["content"] = blocks
    if isinstance(id_, str) and not 0 < len(id_) <= _LONGEST_ID:
        update["id"] = str(uuid.uuid5(EVERTHREAD_NAMESPACE, id_)) if id_ else None
    if "usage_metadata" in update:  # which are numbers, or of no use
        update["usage_metadata"] = None
    clean_message = cast("AnyMessage", message.model_copy(update=update) if update else message)
    if clean_message.additional_kwargs:
        clean_message = unmarked(clean_message)
    _CLEAN[id(clean_message), id(clean_message.content)] = clean_message
    return clean_message


def _blocks(content: list[Any]) -> list[Any]:
    """The blocks of a content; one that says no kind, which no model takes, as the text that is in it."""
    return [
        block if isinstance(block, str) or _is_block(block) else {"type": "text", "text": _text_in(block)}
        for block in content
    ]


def _is_block(block: Any) -> bool:
    kind = block.get("type") if isinstance(block, dict) else None
    return isinstance(kind, str) and bool(kind) and (kind != "text" or isinstance(block.get("text"), str))


def _text_in(block: Any) -> str:
    text = block.get("text") if isinstance(block, dict) else block
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False, default=str) if text else ""


def content_hash(message: BaseMessage) -> int:
    """A number that another content of the message does not have, nearly always; to see whether one was edited."""
    content, calls = message.content, vars(message).get("tool_calls")
    text = content if isinstance(content, str) else json.dumps(content, default=str)
    said = f"{message.type}\x1f{text}\x1f{json.dumps(calls, default=str) if calls else ''}"
    return zlib.crc32(said.encode("utf-8", "replace"))


def newest_question(messages: Sequence[BaseMessage]) -> str:
    """The text of the user's newest message, or nothing."""
    at = question_at(messages)
    return "" if at is None else message_text(messages[at]).strip()


def question_at(messages: Sequence[BaseMessage]) -> int | None:
    """The index of the user's newest message; None where there is none."""
    return next((at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], HumanMessage)), None)


def earlier_questions(messages: Sequence[BaseMessage]) -> list[str]:
    """The texts of the user's messages before the newest one, the oldest first; without those that hold no text."""
    texts = [message_text(message).strip() for message in messages if isinstance(message, HumanMessage)]
    return [text for text in texts[:-1] if text]
