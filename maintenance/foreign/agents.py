"""What LangChain, LangGraph, Letta and mem0 write: messages of agents, states of threads, memories about a user."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages

from ...state.errors import InputError
from ...state.messages import content_text
from ...text.moments import moment
from .said import ExportedConversation, ExportedMessage, Record, Speaker, digest, said

TIMES: Final = ("created_at", "createdAt", "create_time", "timestamp", "ts", "send_date", "date", "time")
"""What records call the time of a message."""
_UNDER: Final = ("additional_kwargs", "response_metadata", "metadata")
_SPOKEN: Final = "send_message"
"""The tool by which older agents of Letta speak; what else they write are thoughts."""


def langchain(record: Record) -> ExportedConversation:
    """Messages of LangChain: `messages_to_dict`, `dumps`, `model_dump`, or objects of role and content."""
    given = record["messages"]
    return ExportedConversation(
        str(record.get("thread_id") or record.get("id") or ""), str(record.get("title") or ""), _time_in(record),
        _said_in(given.values() if isinstance(given, Mapping) else given),
    )  # fmt: skip


def is_state(record: Record) -> bool:
    """Whether a record is the state of a thread: a snapshot, what a server tells of it, or a checkpoint."""
    return isinstance(_values(record), list) or "messages" in _values(record)


def langgraph(record: Record) -> ExportedConversation:
    """One state of a thread, its messages said at the latest when it was made."""
    values = _values(record)
    found = _said_in(values if isinstance(values, list) else values["messages"])
    checkpoint = record.get("checkpoint") or {}
    configurable = (record.get("config") or {}).get("configurable") or {}
    id_ = record.get("thread_id") or checkpoint.get("thread_id") or configurable.get("thread_id") or ""
    at, metadata = moment(checkpoint.get("ts")) or _time_in(record), record.get("metadata") or {}
    title = str(metadata.get("title") or metadata.get("thread_name") or record.get("title") or "")
    return ExportedConversation(str(id_), title, at, [one._replace(at=one.at or at) for one in found])


def history_of(states: Iterable[ExportedConversation]) -> Iterator[ExportedConversation]:
    """The conversation of each thread, from all of its states: what was said in any, when it first stood in one.

    What the newest state lacks has left, but for its beginning: that was trimmed. A message is held once, however many
    states have it.
    """
    threads: dict[str, _History] = {}
    for state in states:
        threads.setdefault(state.id, _History()).add(state)
    for history in threads.values():
        yield history.whole()


class _History:
    """The states of a thread as they come: a history begins with the newest."""

    def __init__(self) -> None:
        self._states: list[tuple[float, ExportedConversation, list[str]]] = []
        self._newest: dict[str, tuple[float, ExportedMessage]] = {}
        self._first: dict[str, datetime | None] = {}

    def add(self, state: ExportedConversation) -> None:
        at, keys = state.at.timestamp() if state.at else 0.0, []
        for place, one in enumerate(state.said):
            key = one.id or digest(f"{place} {one.speaker} {one.text}")
            keys.append(key)
            if key not in self._newest or self._newest[key][0] < at:
                self._newest[key] = at, one
            before = self._first.setdefault(key, one.at)
            self._first[key] = min(filter(None, (before, one.at)), default=None)
        self._states.append((at, state._replace(said=()), keys))

    def whole(self) -> ExportedConversation:
        in_order = self._states[::-1]
        in_order.sort(key=lambda state: state[0])
        _, newest, shown = in_order[-1]
        keys = list(dict.fromkeys(key for _, _, of_state in in_order for key in of_state))
        there = set(shown)
        first = next((place for place, key in enumerate(keys) if key in there), 0)
        said_ = [
            self._newest[key][1]._replace(at=self._first[key], left=place >= first and key not in there)
            for place, key in enumerate(keys)
        ]
        return newest._replace(said=said_, at=in_order[0][1].at)


def letta(record: Record) -> ExportedConversation:
    """An agent of Letta's file: what it and the user said, and last what it held in memory of the user."""
    messages = record["messages"]
    speaks = any(_calls(message, _SPOKEN) for message in messages)
    found = [one for message in messages for one in _letta_said(message, speaks=speaks)]
    last = next((one.at for one in reversed(found) if one.at), None)
    blocks = record.get("core_memory") or record.get("memory_blocks") or ()
    known = [str(block.get("value") or "") for block in blocks if block.get("label") == "human"]
    found += [
        ExportedMessage(digest(text), "user", text.strip(), last or moment(record.get("created_at")))
        for text in known
        if text.strip()
    ]
    name = str(record.get("name") or "agent")
    return ExportedConversation(name, name, moment(record.get("created_at")), found)


def letta_agents(whole: Record) -> Iterator[Record]:
    """The agents of a file, each with its blocks of memory."""
    blocks = {block["id"]: block for block in whole.get("blocks") or ()}
    for agent in whole["agents"]:
        named = [blocks[id_] for id_ in agent.get("block_ids") or () if id_ in blocks]
        yield {**agent, "core_memory": [*named, *(agent.get("memory_blocks") or ())]}


def mem0(record: Record) -> ExportedConversation:
    """A memory of mem0; one that was changed is another one. What the assistant has said is no fact about the user."""
    owner = next((f"{kind[:-3]} {record[kind]}" for kind in ("user_id", "agent_id", "run_id") if record.get(kind)), "")
    text = str(record["memory"]).strip()
    at = moment(record.get("updated_at")) or moment(record.get("created_at"))
    speaker: Speaker = "assistant" if "assistant" in (record.get("attributed_to"), record.get("role")) else "user"
    is_fact = speaker == "user" and bool(record.get("user_id"))
    one = ExportedMessage(f"{record.get('id') or ''} {digest(text)}", speaker, text, at, is_fact=is_fact)
    return ExportedConversation(owner or "memories", f"mem0: {owner or 'memories'}", None, [one] if text else [])


def by_owner(memories: Iterable[ExportedConversation]) -> Iterator[ExportedConversation]:
    """The memories of each owner in the order of their times.

    Raises:
        InputError: they are about several users.
    """
    owners: dict[str, ExportedConversation] = {}
    for memory in memories:
        before = owners.setdefault(memory.id, memory._replace(said=[]))
        owners[memory.id] = before._replace(said=[*before.said, *memory.said])
    users = [owner for owner in owners if owner.startswith("user ")]
    if len(users) > 1:
        raise InputError(
            f"The file holds memories about {len(users)} users ({', '.join(users[:3])}): expected those of one. Export "
            "each user's, and import it for that user."
        )
    for owner in owners.values():
        yield owner._replace(said=sorted(owner.said, key=lambda one: one.at.timestamp() if one.at else 0.0))


def _values(record: Record) -> Any:
    found = record.get("values")
    if not isinstance(found, (Mapping, list)):
        checkpoint = record.get("checkpoint")
        found = checkpoint.get("channel_values") if isinstance(checkpoint, Mapping) else None
    return found if isinstance(found, (Mapping, list)) else {}


def _said_in(messages: Iterable[Record]) -> list[ExportedMessage]:
    found = []
    for message in messages:
        read = _message(message)
        speaker: Speaker | None = (
            "user" if isinstance(read, HumanMessage) else "assistant" if isinstance(read, AIMessage) else None
        )
        if speaker and (one := said(read.id or "", speaker, [content_text(read.content)], None)):
            found.append(one._replace(at=_time_in({**message, **_fields(message)})))
    return found


def _fields(message: Record) -> Record:
    """The fields of a message, wherever its form keeps them."""
    for name in ("kwargs", "data"):
        if isinstance(message.get(name), Mapping):
            return message[name]  # type: ignore[no-any-return]  # JSON
    return message


def _message(message: Record) -> BaseMessage:
    fields = dict(_fields(message))
    if isinstance(message.get("data"), Mapping):
        fields["type"] = message["type"]
    (read,) = convert_to_messages([fields])
    return read


def _time_in(holder: Record) -> Any:
    """The time that a record names, under any of the usual names, or in what stands beside its text."""
    for place in (holder, *(holder.get(name) for name in _UNDER)):
        if isinstance(place, Mapping):
            for name in TIMES:
                if (found := moment(place.get(name))) is not None:
                    return found
    return None


def _letta_said(message: Record, *, speaks: bool) -> Iterator[ExportedMessage]:
    speaker = {"user": "user", "assistant": "assistant"}.get(str(message.get("role")))
    content = message.get("content") if message.get("content") is not None else message.get("text")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [str(block.get("text") or "") for block in blocks if block.get("type", "text") == "text"]
    if speaker == "user":
        texts = [shown for text in texts if (shown := _letta_user(text)) is not None]
    elif speaker == "assistant" and speaks:
        texts = _calls(message, _SPOKEN)
    at = message.get("created_at")
    if speaker and (one := said("", "user" if speaker == "user" else "assistant", texts, at)):
        # Ids in the file count from its first message, which another export does not begin with.
        yield one._replace(id=digest(f"{at} {one.speaker} {one.text}"))


def _letta_user(text: str) -> str | None:
    """What the user wrote: Letta keeps it as JSON, as it keeps what its own clock and tools say, which is None."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if not isinstance(found, dict) or "type" not in found:
        return text
    return str(found.get("message") or "") if found["type"] == "user_message" else None


def _calls(message: Record, name: str) -> list[str]:
    """What the calls of a tool in a message say."""
    found = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        if function.get("name") == name:
            try:
                found.append(str(json.loads(function.get("arguments") or "{}").get("message") or ""))
            except ValueError:
                continue
    return found
