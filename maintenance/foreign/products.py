"""The conversations that each product exports, from the JSON of one of its records."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages

from ...state.messages import message_text
from .said import Conversation, Node, Said, Speaker, moment, on_branches

Record = Mapping[str, Any]

_SPEAKERS: Final[Mapping[Any, Speaker]] = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
}  # fmt: skip
_TAG: Final = re.compile(r"<[^>]+>")
_PROMPTED: Final = re.compile(r"^(?:Prompted|Asked|Said)[\s\u00a0]+")


class Product(NamedTuple):
    """How to tell a product's records, and what is read of one."""

    name: str
    made: Callable[[Record], bool]
    read: Callable[[Record], Conversation]


def product_of(record: Record) -> Product | None:
    """Which product made a record."""
    return next((product for product in PRODUCTS if product.made(record)), None)


def _chatgpt(record: Record) -> Conversation:
    nodes = {
        str(id_): Node(node.get("parent"), _chatgpt_said(str(id_), node.get("message")))
        for id_, node in record["mapping"].items()
    }
    id_ = str(record.get("conversation_id") or record.get("id") or record.get("create_time"))
    return Conversation(
        id_, str(record.get("title") or ""), moment(record.get("create_time")),
        on_branches(nodes, record.get("current_node")),
    )  # fmt: skip


def _chatgpt_said(id_: str, message: Record | None) -> Said | None:
    """None for what ChatGPT does not show: system messages, calls of tools and their results, thoughts."""
    if message is None or (message.get("metadata") or {}).get("is_visually_hidden_from_conversation"):
        return None
    speaker = _SPEAKERS.get((message.get("author") or {}).get("role"))
    content = message.get("content") or {}
    if speaker is None or message.get("recipient", "all") != "all":
        return None
    if content.get("content_type") not in {"text", "multimodal_text"}:
        return None
    parts = [_chatgpt_part(part) for part in content.get("parts") or []]
    names = [file.get("name") for file in (message.get("metadata") or {}).get("attachments") or []]
    return _said(id_, speaker, [*parts, *_attached(names)], message.get("create_time"))


def _chatgpt_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    kind = str(part.get("content_type", ""))
    return str(part.get("text") or "") if "transcription" in kind else "[image]" if "image" in kind else ""


def _claude(record: Record) -> Conversation:
    said = []
    for message in record["chat_messages"]:
        blocks = message.get("content") or []
        texts = [block["text"] for block in blocks if block.get("type") == "text" and block.get("text")]
        files = [file.get("file_name") for kind in ("attachments", "files") for file in message.get(kind) or []]
        parts = [*(texts or [message.get("text") or ""]), *_attached(files)]
        speaker = _SPEAKERS.get(message.get("sender"))
        if speaker and (found := _said(str(message.get("uuid") or ""), speaker, parts, message.get("created_at"))):
            said.append(found)
    return Conversation(str(record["uuid"]), str(record.get("name") or ""), moment(record.get("created_at")), said)


def _open_webui(record: Record) -> Conversation:
    chat = record.get("chat") or record
    history = chat["history"]
    nodes = {
        str(id_): Node(message.get("parentId"), _plain(str(id_), message, "timestamp"))
        for id_, message in history["messages"].items()
    }
    at = moment(record.get("created_at") or chat.get("timestamp"))
    title = str(record.get("title") or chat.get("title") or "")
    return Conversation(str(record.get("id") or title), title, at, on_branches(nodes, history.get("currentId")))


def _librechat(record: Record) -> Conversation:
    nodes: dict[str, Node] = {}
    for message in _with_children(record["messages"]):
        id_ = str(message["messageId"])
        speaker: Speaker = "user" if message.get("isCreatedByUser") else "assistant"
        blocks = message.get("content") or []
        texts = [_block_text(block) for block in blocks if isinstance(block, Mapping)]
        said = _said(id_, speaker, [message.get("text") or "", *texts], message.get("createdAt"))
        nodes[id_] = Node(message.get("parentMessageId"), said)
    id_ = str(record["conversationId"])
    return Conversation(id_, str(record.get("title") or ""), moment(record.get("createdAt")), on_branches(nodes, None))


def _with_children(messages: Iterable[Record]) -> Iterator[Record]:
    """LibreChat nests a message in its parent where it was asked to."""
    waiting = list(messages)[::-1]
    while waiting:
        message = waiting.pop()
        yield message
        waiting += (message.get("children") or [])[::-1]


def _block_text(block: Record) -> str:
    text = block.get("text")
    return str(text.get("value") or "") if isinstance(text, Mapping) else str(text or "")


def _gemini(record: Record) -> Conversation:
    """An activity of Google's Takeout: a prompt and its reply, which name no conversation."""
    at = record.get("time")
    prompt = _said(f"{at}-prompt", "user", [_PROMPTED.sub("", record["title"])], at)
    pages = [_text_of(str(item.get("html") or "")) for item in record.get("safeHtmlItem") or []]
    reply = _said(f"{at}-reply", "assistant", pages, at)
    found = moment(at)
    day = f"{found:%Y-%m-%d}" if found else ""
    return Conversation(day, f"Gemini {day}".strip(), found, [said for said in (prompt, reply) if said])


def _text_of(markup: str) -> str:
    return html.unescape(_TAG.sub("", re.sub(r"</(?:p|li|h\d|div|pre)>|<br\s*/?>", "\n", markup))).strip()


def _langchain(record: Record) -> Conversation:
    """Messages of LangChain: `messages_to_dict`, `dumps`, objects of role and content, or a thread's state."""
    state = record.get("values") if isinstance(record.get("values"), Mapping) else record
    said = []
    for message in state["messages"] if state else []:
        read = _langchain_message(message)
        speaker: Speaker | None = (
            "user" if isinstance(read, HumanMessage) else "assistant" if isinstance(read, AIMessage) else None
        )
        at = read.additional_kwargs.get("created_at") or (message.get("created_at") if "role" in message else None)
        if speaker and (found := _said(read.id or "", speaker, [message_text(read)], at)):
            said.append(found)
    configurable = (record.get("config") or {}).get("configurable") or {}
    id_ = str(record.get("thread_id") or configurable.get("thread_id") or record.get("id") or "")
    return Conversation(id_, str(record.get("title") or ""), moment(record.get("created_at")), said)


def _langchain_message(message: Record) -> BaseMessage:
    if isinstance(message.get("kwargs"), Mapping):
        message = message["kwargs"]
    elif isinstance(message.get("data"), Mapping):
        message = {**message["data"], "type": message["type"]}
    (read,) = convert_to_messages([dict(message)])
    return read


def _silly_tavern(record: Record) -> Conversation:
    """A chat of SillyTavern: its lines, the header first."""
    header, *lines = record["lines"]
    said = []
    for number, line in enumerate(lines):
        speaker: Speaker = "user" if line.get("is_user") else "assistant"
        if not line.get("is_system") and (found := _said(str(number), speaker, [line["mes"]], line.get("send_date"))):
            said.append(found)
    title = str(header.get("character_name") or (lines[0].get("name") if lines else "") or "")
    begun = header.get("create_date")
    return Conversation(f"{title} {begun or ''}".strip(), title, moment(begun), said)


def _plain(id_: str, message: Record, time: str) -> Said | None:
    speaker = _SPEAKERS.get(message.get("role"))
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    names = [file.get("name") for file in message.get("files") or []]
    texts = [_block_text(part) for part in parts if isinstance(part, Mapping)]
    return _said(id_, speaker, [*texts, *_attached(names)], message.get(time)) if speaker else None


def _said(id_: str, speaker: Speaker, parts: Iterable[str], at: Any) -> Said | None:
    """The message; None where nothing was said."""
    text = "\n".join(part for part in parts if part and part.strip())
    return Said(id_, speaker, text, moment(at)) if text else None


def _attached(names: Iterable[Any]) -> list[str]:
    return [f"[attached: {name}]" for name in names if name]


PRODUCTS: Final = (
    Product("ChatGPT", lambda record: isinstance(record.get("mapping"), Mapping), _chatgpt),
    Product("Claude", lambda record: isinstance(record.get("chat_messages"), list), _claude),
    Product(
        "Open WebUI",
        lambda record: isinstance((record.get("chat") or record).get("history"), Mapping),
        _open_webui,
    ),
    Product("LibreChat", lambda record: "conversationId" in record and "messages" in record, _librechat),
    Product("Gemini", lambda record: "safeHtmlItem" in record or str(record.get("header")) == "Gemini Apps", _gemini),
    Product("SillyTavern", lambda record: isinstance(record.get("lines"), list), _silly_tavern),
    Product("LangChain", lambda record: "messages" in record or "messages" in (record.get("values") or {}), _langchain),
)
"""In the order in which they are asked: each before those whose records look like its own."""
