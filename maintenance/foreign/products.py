"""The conversations that each product exports, from the JSON of one of its records."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final, NamedTuple

from ...text.moments import moment
from .agents import by_owner, history_of, is_state, langchain, langgraph, letta, mem0
from .said import ExportedConversation, ExportedMessage, ExportedNode, Record, Speaker, on_branches, said

_SPEAKERS: Final[Mapping[Any, Speaker]] = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
}  # fmt: skip
_TAG: Final = re.compile(r"<[^>]+>")
_PROMPTED: Final = re.compile(r"^(?:Prompted|Asked|Said)[\s\u00a0]+")


class Product(NamedTuple):
    """How to tell a product's records, what is read of one, and how what was read becomes conversations."""

    name: str
    made: Callable[[Record], bool]
    read: Callable[[Record], ExportedConversation]
    joined: Callable[[Iterator[ExportedConversation]], Iterator[ExportedConversation]] = iter

    @property
    def joins(self) -> bool:
        """Whether several records become one conversation."""
        return self.joined is not iter


def product_of(record: Record) -> Product | None:
    """Which product made a record."""
    return next((product for product in _PRODUCTS if product.made(record)), None)


def _chatgpt(record: Record) -> ExportedConversation:
    nodes = {
        str(id_): ExportedNode(node.get("parent"), _chatgpt_said(str(id_), node.get("message")))
        for id_, node in record["mapping"].items()
    }
    id_ = str(record.get("conversation_id") or record.get("id") or record.get("create_time"))
    return ExportedConversation(
        id_, str(record.get("title") or ""), moment(record.get("create_time")),
        on_branches(nodes, record.get("current_node")),
    )  # fmt: skip


def _chatgpt_said(id_: str, message: Record | None) -> ExportedMessage | None:
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
    return said(id_, speaker, [*parts, *_attached(names)], message.get("create_time"))


def _chatgpt_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    kind = str(part.get("content_type", ""))
    return str(part.get("text") or "") if "transcription" in kind else "[image]" if "image" in kind else ""


def _claude(record: Record) -> ExportedConversation:
    found = []
    for message in record["chat_messages"]:
        blocks = message.get("content") or []
        texts = [block["text"] for block in blocks if block.get("type") == "text" and block.get("text")]
        files = [file.get("file_name") for kind in ("attachments", "files") for file in message.get(kind) or []]
        parts = [*(texts or [message.get("text") or ""]), *_attached(files)]
        speaker = _SPEAKERS.get(message.get("sender"))
        if speaker and (one := said(str(message.get("uuid") or ""), speaker, parts, message.get("created_at"))):
            found.append(one)
    return ExportedConversation(
        str(record["uuid"]), str(record.get("name") or ""), moment(record.get("created_at")), found
    )


def _open_webui(record: Record) -> ExportedConversation:
    chat = record.get("chat") or record
    history = chat["history"]
    nodes = {
        str(id_): ExportedNode(message.get("parentId"), _plain(str(id_), message, "timestamp"))
        for id_, message in history["messages"].items()
    }
    at = moment(record.get("created_at") or chat.get("timestamp"))
    title = str(record.get("title") or chat.get("title") or "")
    return ExportedConversation(str(record.get("id") or title), title, at, on_branches(nodes, history.get("currentId")))


def _librechat(record: Record) -> ExportedConversation:
    nodes: dict[str, ExportedNode] = {}
    for message in _with_children(record["messages"]):
        id_ = str(message["messageId"])
        speaker: Speaker = "user" if message.get("isCreatedByUser") else "assistant"
        blocks = message.get("content") or []
        texts = [_block_text(block) for block in blocks if isinstance(block, Mapping)]
        found = said(id_, speaker, [message.get("text") or "", *texts], message.get("createdAt"))
        nodes[id_] = ExportedNode(message.get("parentMessageId"), found)
    id_ = str(record["conversationId"])
    return ExportedConversation(
        id_, str(record.get("title") or ""), moment(record.get("createdAt")), on_branches(nodes, None)
    )


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


def _gemini(record: Record) -> ExportedConversation:
    """An activity of Google's Takeout: a prompt and its reply, which name no conversation."""
    at = record.get("time")
    prompt = said(f"{at}-prompt", "user", [_PROMPTED.sub("", record["title"])], at)
    pages = [_text_of(str(item.get("html") or "")) for item in record.get("safeHtmlItem") or []]
    reply = said(f"{at}-reply", "assistant", pages, at)
    found = moment(at)
    day = f"{found:%Y-%m-%d}" if found else ""
    return ExportedConversation(day, f"Gemini {day}".strip(), found, [one for one in (prompt, reply) if one])


def _by_day(activities: Iterator[ExportedConversation]) -> Iterator[ExportedConversation]:
    """Single activities, the newest first, as conversations of a day."""
    in_order = sorted(activities, key=lambda activity: activity.at.timestamp() if activity.at else 0.0)
    for _, day in groupby(in_order, key=lambda activity: activity.id):
        found = list(day)
        yield found[0]._replace(said=[one for activity in found for one in activity.said])


def _text_of(markup: str) -> str:
    return html.unescape(_TAG.sub("", re.sub(r"</(?:p|li|h\d|div|pre)>|<br\s*/?>", "\n", markup))).strip()


def _silly_tavern(record: Record) -> ExportedConversation:
    """A chat of SillyTavern: its lines, the header first."""
    header, *lines = record["lines"]
    found = []
    for number, line in enumerate(lines):
        speaker: Speaker = "user" if line.get("is_user") else "assistant"
        if not line.get("is_system") and (one := said(str(number), speaker, [line["mes"]], line.get("send_date"))):
            found.append(one)
    title = str(header.get("character_name") or (lines[0].get("name") if lines else "") or "")
    begun = header.get("create_date")
    return ExportedConversation(f"{title} {begun or ''}".strip(), title, moment(begun), found)


def _plain(id_: str, message: Record, time: str) -> ExportedMessage | None:
    speaker = _SPEAKERS.get(message.get("role"))
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    names = [file.get("name") for file in message.get("files") or []]
    texts = [_block_text(part) for part in parts if isinstance(part, Mapping)]
    return said(id_, speaker, [*texts, *_attached(names)], message.get(time)) if speaker else None


def _attached(names: Iterable[Any]) -> list[str]:
    return [f"[attached: {name}]" for name in names if name]


_PRODUCTS: Final = (
    Product("ChatGPT", lambda record: isinstance(record.get("mapping"), Mapping), _chatgpt),
    Product("Claude", lambda record: isinstance(record.get("chat_messages"), list), _claude),
    Product(
        "Open WebUI",
        lambda record: isinstance((record.get("chat") or record).get("history"), Mapping),
        _open_webui,
    ),
    Product("LibreChat", lambda record: "conversationId" in record and "messages" in record, _librechat),
    Product(
        "Gemini",
        lambda record: "safeHtmlItem" in record or str(record.get("header")) == "Gemini Apps",
        _gemini,
        _by_day,
    ),
    Product("SillyTavern", lambda record: isinstance(record.get("lines"), list), _silly_tavern),
    Product("Letta", lambda record: "messages" in record and "core_memory" in record, letta),
    Product("mem0", lambda record: "memory" in record and "messages" not in record, mem0, by_owner),
    Product("LangGraph", is_state, langgraph, history_of),
    Product("LangChain", lambda record: "messages" in record, langchain),
)
"""In the order in which they are asked: each before those whose records look like its own."""
