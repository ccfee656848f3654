"""How a message becomes a row of the archive: its JSON, its text, and when it was said."""

from __future__ import annotations

import json
import math
import re
import threading
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, cast, get_args

from cachetools import LRUCache
from langchain_core.messages import AnyMessage, BaseMessage, message_to_dict, messages_from_dict

from ..state.errors import InputError
from ..state.messages import clean, message_text, role_of
from ..state.records import Place, Role, Summary, now
from ..text.moments import moment
from ..text.tokens import count_message_tokens
from .readable import Rows, readable
from .term_keys import message_keys
from .values import Json, Row, kept_time

COMPARED: Final = ("content", "tool_calls", "tool_call_id")
"""What two messages of one id must agree in, beside their role."""

MOST_MESSAGES: Final = 2**40
"""Messages of a thread."""

_MOST_MADE, _LONGEST_MADE = 4_000, 8_000
"""Messages that are kept with the rows that they were made of, 3 to 5 kB each; and characters of the longest."""

CREATED_AT: Final = "created_at"
"""Says, among the additional_kwargs of a message, when it was said."""

_EARLIER: Final = re.compile("@was-[0-9a-f]{32}$")
ROLES: Final = frozenset(get_args(Role))
"""Who says something in a conversation."""
_COLUMNS: Final = ("id", "thread_id", "seq", "role", "name", "text", "tokens", "created_at", "left_at")


class Standing(NamedTuple):
    """What stands in the chain of a thread as the archive has it.

    Attributes:
        positions: by its id, where each message or summary stands; the order is what counts.
        kept: ids of messages that a summary has already, and that are recent.
        summaries: by id.
        last: the newest message; None where there is none.
    """

    positions: Mapping[str, int]
    kept: frozenset[str]
    summaries: Mapping[str, Summary]
    last: str | None


class Offered(NamedTuple):
    """What became of messages that were offered: ids that were new, and ids that are taken by another content."""

    added: tuple[str, ...]
    changed: tuple[str, ...]


class ArchivedMessage(NamedTuple):
    """A message as the archive holds it. `tokens` is an estimate; `seq` counts from 1 in its thread.

    `chunk_id` is the number of the batch in which it was summarized, from 1 in its thread; None where it was not.
    `left_at` is when it left the conversation: it was edited, removed, or the thread went on from before it.
    """

    id: str
    thread_id: str
    seq: int
    role: Role
    name: str | None
    text: str
    message: BaseMessage
    tokens: int
    created_at: datetime
    chunk_id: int | None = None
    left_at: datetime | None = None

    @property
    def active(self) -> bool:
        """Whether it stands in the conversation on its own: no summary has it, and it has not left."""
        return self.chunk_id is None and self.left_at is None


def archived(user: Rows, rows: Iterable[Row], summaries: Sequence[Row]) -> list[ArchivedMessage]:
    """The messages of rows of the table.

    Args:
        user: whose rows they are.
        rows: of messages of one thread.
        summaries: `id`, `source_ids` and `left_at` of all summaries of that thread, the oldest first.
    """
    chunks = _chunks(readable(user, "summaries", summaries, _with_sources))

    def made(row: Row) -> ArchivedMessage:
        check_message(row["seq"], row["role"], row["created_at"])
        columns = {name: row[name] for name in _COLUMNS} | {"tokens": max(row["tokens"] or 0, 0)}
        return ArchivedMessage(**columns, message=message_of(row), chunk_id=chunks.get(row["id"]))

    return readable(user, "messages", rows, made)


def message_of(row: Row) -> AnyMessage:
    """The message of a row.

    Raises:
        ValueError: it is damaged; or a TypeError, a KeyError.
    """
    return cast("AnyMessage", messages_from_dict([row["message"]])[0])


class MadeMessages:
    """Messages that rows were made to, so that a row that was read before is not made to one again."""

    def __init__(self) -> None:
        self._made = LRUCache[str, tuple[Any, AnyMessage]](_MOST_MADE)
        self._lock = threading.Lock()

    def of(self, row: Row) -> tuple[str, AnyMessage]:
        """The id and the message of a row.

        Raises:
            ValueError: it is damaged; or a TypeError, a KeyError.
        """
        id_, said = row["id"], row["message"]
        with self._lock:
            known = self._made.get(id_)
        if known is None or known[0] != said:
            known = said, message_of(row)
            content = known[1].content
            with self._lock:
                if isinstance(content, str) and len(content) <= _LONGEST_MADE:
                    self._made[id_] = known
        return id_, known[1]

    def clear(self) -> None:
        """Keep none of them."""
        with self._lock:
            self._made.clear()


def messages_by_id(user: Rows, rows: Iterable[Row]) -> dict[str, AnyMessage]:
    """By their ids, the messages of a user's rows that have `id` and `message`."""
    return dict(readable(user, "messages", rows, lambda row: (row["id"], message_of(row))))


def check_message(seq: object, role: object, said_at: object) -> None:
    """Refuse what no message has.

    Raises:
        ValueError: the number, the role or the time is damaged.
    """
    if type(seq) is not int or not 0 < seq < MOST_MESSAGES or role not in ROLES or said_at is None:
        raise ValueError("a message has a number, a role and a time")


def _with_sources(row: Row) -> Row:
    if not isinstance(row["source_ids"], list):
        raise TypeError("a summary has a list of sources")
    return row


def _chunks(summaries: Sequence[Row]) -> dict[str, int]:
    """By id, the chunks of messages: each summary of the conversation makes one of those that none before it has."""
    ids = {row["id"] for row in summaries}
    chunks: dict[str, int] = {}
    last = 0
    for row in summaries:
        new = [id_ for id_ in row["source_ids"] if id_ not in ids and id_ not in chunks] if not row["left_at"] else []
        last += bool(new)
        chunks.update(dict.fromkeys(new, last))
    return chunks


def said_at(message: BaseMessage) -> datetime:
    """When a message was said, in UTC: `created_at` among its additional_kwargs, else now.

    It may stand there in any form that `text.moments` reads, in UTC where it names no zone. What is none, or lies
    outside the years 2 to 9998, counts as now.
    """
    try:
        return kept_time((moment(message.additional_kwargs.get(CREATED_AT)) or now()).astimezone(UTC))
    except (ValueError, OverflowError, OSError):
        return now()


def message_rows(user_id: str, messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """The columns of a user's messages, in their order; one that stands there twice comes once.

    Raises:
        InputError: a message has no id, or two messages share an id and not their content.
    """
    rows: dict[str, dict[str, Any]] = {}
    for position, message in enumerate(messages):
        if not message.id:
            raise InputError("A message without an id cannot be archived: give it an id that stays the same.")
        row = _message_row(user_id, position, message)
        if not is_same(rows.setdefault(row["id"], row), row):
            raise changed_message([row["id"]])
    return list(rows.values())


def changed_message(ids: Sequence[str]) -> InputError:
    """The error for messages whose ids are taken by others."""
    more = f" (and {len(ids) - 1} more)" if len(ids) > 1 else ""
    return InputError(
        f"Message {ids[0]!r}{more} is in this thread already with another content, and what was said is not changed: "
        "send the new text under another id, or without one."
    )


def earlier_id(id_: str) -> str:
    """The id under which what a message said before it was edited is kept: it tells which message that was."""
    return f"{id_}@was-{uuid.uuid4().hex}"


def said_as(id_: str) -> str:
    """The id under which a message was said; that of its earlier text is made from it."""
    return _EARLIER.sub("", id_)


def is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the rows of two messages of one id hold the same message."""
    first, second = one["message"]["data"], other["message"]["data"]
    return one["role"] == other["role"] and all(first.get(name) == second.get(name) for name in COMPARED)


def as_jsonb(value: Any) -> Json:
    """A value for a jsonb column; what JSON cannot say is kept as text, and NaN or Infinity as null."""
    return Json(value, dumps=_dumps)


def _dumps(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False, default=_as_text)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, default=_as_text)


def _as_text(value: Any) -> Any:
    return clean(value.isoformat() if isinstance(value, datetime) else str(value))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _message_row(user_id: str, position: int, message: BaseMessage) -> dict[str, Any]:
    data: dict[str, Any] = clean(message_to_dict(message))
    text, at = clean(message_text(message)), said_at(message)
    row = {
        "ordinal": position,
        "id": data["data"]["id"],
        "role": role_of(message),
        "name": data["data"].get("name"),
        "text": text,
        "message": data,
        "tokens": count_message_tokens([message]),
        "created_at": at.isoformat(),
    }
    return {**row, "term_keys": message_keys(user_id, row, at)}


def numbers_of(user: Rows, rows: Iterable[Row], name: str) -> dict[str, int]:
    """By the value of a column, the number of a message in its thread; without rows whose number is damaged."""

    def numbered(row: Row) -> tuple[str, int]:
        if not isinstance(row["seq"], int):
            raise TypeError(f"{row[name]} has no number")
        return row[name], row["seq"]

    return dict(readable(user, "messages", rows, numbered))


def place_of(row: Row) -> tuple[str, Place]:
    """Where a message stands, by its id.

    Raises:
        TypeError: the row is damaged.
    """
    if not isinstance(row["seq"], int) or not isinstance(row["created_at"], datetime):
        raise TypeError(f"{row['id']} has no place")
    return row["id"], Place(row["seq"], row["created_at"])
