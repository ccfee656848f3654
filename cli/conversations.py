"""Reading conversations from files: JSON or JSONL of role and content, LoCoMo, and objects with `messages`."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from langchain_core.messages import AnyMessage, HumanMessage, convert_to_messages

from ..maintenance.foreign.agents import TIMES
from ..maintenance.foreign.read import in_utf8, json_lines
from ..maintenance.foreign.said import digest
from ..state.errors import InputError, first_line
from ..state.messages import clean, is_empty
from ..state.records import EVERTHREAD_NAMESPACE
from ..text.moments import moment

_TIME_KEYS: Final = (*TIMES, "time_anchor")
_NAME: Final = re.compile(r"[^\w-]+")


def read_conversation(file: Path, thread_id: str, conversation: str | None = None) -> list[AnyMessage]:
    """The messages of a file in their order, each with an id that is the same in every run.

    Args:
        file: JSON or JSONL.
        thread_id: the thread they go to; ids that are derived hold within it.
        conversation: which conversation of a file that holds several, by its id.

    Raises:
        InputError: the file cannot be read, holds no conversation, or several and none is chosen.
    """
    data = _chosen(_parsed(file), conversation, file)
    records = _locomo(data["conversation"]) if "conversation" in data else _plain(data["messages"])
    messages: list[AnyMessage] = []
    before = thread_id
    for position, record in enumerate(records):
        if (message := _message(record, position)) is not None:
            before = digest(f"{before}\x1f{position}\x1f{message.type}\x1f{message.content!r}")
            # An equal message at an equal place of another conversation has another id.
            given = record.get("id")
            message.id = str(uuid.uuid5(EVERTHREAD_NAMESPACE, before) if given is None else given)
            messages.append(message)
    if not messages:
        raise InputError(f"{file} holds no messages: expected objects with 'role' and 'content'.")
    return messages


def read_exchanges(messages: Sequence[AnyMessage]) -> Iterator[list[AnyMessage]]:
    """The messages in groups, each beginning with what the user said after a reply."""
    group: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage) and group and not isinstance(group[-1], HumanMessage):
            yield group
            group = []
        group.append(message)
    if group:
        yield group


def _parsed(file: Path) -> Any:
    try:
        with file.open("rb") as given:
            text = in_utf8(file, given).read()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}. Give the path of a JSON or JSONL file.") from None
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return json_lines(text)
    except ValueError as error:
        raise InputError(f"{file} is neither JSON nor JSONL: {error}. Check the file.") from None


def _chosen(data: Any, conversation: str | None, file: Path) -> dict[str, Any]:
    """The one conversation that is meant, as an object with `messages` or with LoCoMo's `conversation`."""
    if isinstance(data, list) and data and all(isinstance(item, dict) and "role" in item for item in data):
        return {"messages": data}
    several = [item for item in (data if isinstance(data, list) else [data]) if _is_conversation(item)]
    if not several:
        raise InputError(f"{file} holds no conversation: expected objects with 'role' and 'content', or LoCoMo.")
    names = [
        str(item.get("sample_id", item.get("conversation_id", item.get("id", position))))
        for position, item in enumerate(several)
    ]
    if conversation is not None and conversation in names:
        return dict(several[names.index(conversation)])
    if conversation is not None or len(several) > 1:
        raise InputError(f"{file} holds the conversations {', '.join(names[:20])}: choose one with --conversation.")
    return dict(several[0])


def _is_conversation(item: Any) -> bool:
    return isinstance(item, dict) and (
        isinstance(item.get("messages"), list) or isinstance(item.get("conversation"), dict)
    )


def _plain(records: Iterable[Any]) -> Iterator[dict[str, Any]]:
    at: datetime | None = None
    for record in records:
        if not isinstance(record, dict):
            raise InputError("A message of the file is not an object: expected 'role' and 'content'.")
        stamp = next((found for key in _TIME_KEYS if (found := moment(record.get(key)))), None)
        at = stamp or (at + timedelta(seconds=1) if at else None)
        yield {**record, "created_at": at}


def _locomo(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """LoCoMo's sessions: the first speaker is taken for the user, the second for the assistant."""
    first = conversation.get("speaker_a")
    sessions = sorted((int(m[1]), key) for key in conversation if (m := re.fullmatch(r"session_(\d+)", key)))
    for _, key in sessions:
        begun = moment(conversation.get(f"{key}_date_time"))
        for position, said in enumerate(conversation[key]):
            photo = f" [shares a photo: {said['blip_caption']}]" if said.get("blip_caption") else ""
            yield {
                "id": said.get("dia_id"),
                "role": "user" if said.get("speaker") == first else "assistant",
                "name": said.get("speaker"),
                "content": f"{said.get('text') or ''}{photo}",
                "created_at": begun + timedelta(seconds=position) if begun else None,
            }


def _message(record: dict[str, Any], position: int) -> AnyMessage | None:
    """The message of a record; None for one with nothing in it."""
    wanted = {
        key: record[key] for key in ("role", "content", "tool_calls", "tool_call_id") if record.get(key) is not None
    }
    name = _NAME.sub("_", str(record["name"])) if record.get("name") else None
    try:
        (message,) = convert_to_messages([clean({"content": "", **wanted, **({"name": name} if name else {})})])
    except (ValueError, KeyError, NotImplementedError) as error:
        reason = first_line(error)
        raise InputError(f"Message {position + 1} of the file cannot be read: {reason}.") from None
    if is_empty(message):
        return None
    if record.get("created_at"):
        message.additional_kwargs["created_at"] = record["created_at"].isoformat()
    return message  # type: ignore[return-value]  # convert_to_messages returns the concrete kinds
