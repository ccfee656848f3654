"""Damaged rows of a thread: found by reading each as a turn would, and mended from what stands beside the damage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, message_to_dict
from pydantic import BaseModel, ValidationError

from ..facts.reading import read_again
from ..facts.rows import fact_row
from ..settings.retention import KEEPS
from ..state.compression_records import SummaryVersion
from ..state.fact_records import Fact, Pin
from ..state.messages import message_text, role_of, unmarked
from ..state.records import COLUMN_MOST, Summary, now
from ..storage.archive_rows import MOST_MESSAGES, as_jsonb, check_message, message_of
from ..storage.memory_changes import term_numbers
from ..storage.readable import UNREADABLE
from ..storage.user_rows import Snapshot, UserRows
from ..storage.values import Json, Row
from ..text.tokens import count_message_tokens
from .transfer_lines import ThreadLine

R = TypeVar("R", bound=BaseModel)

Statement = tuple[str, Mapping[str, Any]]

_SPEAKERS: Final[Mapping[str, type[BaseMessage]]] = {
    "assistant": AIMessage,
    "agent": AIMessage,
    "system": SystemMessage,
}


class Damage(NamedTuple):
    """A row that cannot be read: how it is named to a person, and the statements that mend it."""

    row: str
    mend: Sequence[Statement]


class _Around(NamedTuple):
    """What a row of a thread is mended from.

    Attributes:
        user_id: whose thread.
        thread_id: which.
        messages: by id, those of the thread's state.
        texts: by id, what messages of the archive say.
        times: by id, when they were said.
    """

    user_id: str
    thread_id: str
    messages: Mapping[str, AnyMessage]
    texts: dict[str, str]
    times: dict[str, datetime]


Look = Callable[[Row, _Around], Iterator[Damage]]


async def damages(rows: UserRows, thread_id: str, messages: Sequence[AnyMessage]) -> list[Damage]:
    """The damaged rows of a thread.

    Args:
        rows: of its user.
        thread_id: which.
        messages: those of its newest state.

    Raises:
        StorageError: the database fails.
    """
    known = {str(message.id): unmarked(message) for message in messages}
    around = _Around(rows.user_id, thread_id, known, {}, {})

    async def work(snapshot: Snapshot) -> list[Damage]:
        found: list[Damage] = []
        for query, look in _LOOKS:
            async for batch in snapshot.batches(query, damaged=True, thread_id=thread_id):
                found += await asyncio.to_thread(_seen, batch, look, around)
        return found

    return await rows.snapshot(work)


def _seen(batch: Sequence[Row], look: Look, around: _Around) -> list[Damage]:
    return [damage for row in batch for damage in look(row, around)]


def _message(row: Row, around: _Around) -> Iterator[Damage]:
    id_, seq, said_at = row["id"], row["seq"], row["created_at"]
    named = id_
    try:
        check_message(seq, row["role"], said_at)
        said = message_of(row)
        named = str(said.id)
        whole = isinstance(row["text"], str) and type(row["tokens"]) is int and 0 <= row["tokens"] <= COLUMN_MOST
        whole = whole and role_of(said) == row["role"] and named == id_
        if not isinstance(row["term_keys"], list | None):  # SQLite has bytes
            term_numbers([row["term_keys"]])
    except UNREADABLE:
        whole = False
    if not whole:
        message = around.messages.get(id_) or _said(row)
        said_at = said_at or next(reversed(around.times.values()), None) or now()
        values = {
            "id": id_, "named": named, "numbered": type(seq) is int and 0 < seq < MOST_MESSAGES,
            "role": role_of(message), "mended_name": message.name, "mended_text": message_text(message),
            "message": as_jsonb(message_to_dict(message.model_copy(update={"id": id_}))),
            "tokens": count_message_tokens([message]), "created_at": said_at,
        }  # fmt: skip
        yield _damage("messages", id_, around, ("doctor.name_message", values), ("doctor.mend_message", values))
    around.texts[id_] = str(row["text"])
    around.times[id_] = said_at


def _thread(row: Row, around: _Around) -> Iterator[Damage]:
    begun = min(around.times.values(), default=None) or now()
    whole, thread = _mended(ThreadLine, row, name=None, created_at=begun, retention=str(KEEPS))
    if thread is not None and not whole:
        yield _damage("threads", around.thread_id, around, ("doctor.mend_thread", thread.model_dump(exclude={"id"})))


def _said(row: Row) -> BaseMessage:
    """The message of a row: as it is stored, or made from what it says and who said it."""
    try:
        return message_of(row)
    except UNREADABLE:
        return _SPEAKERS.get(row["role"], HumanMessage)(str(row["text"] or ""), id=row["id"])


def _summary(row: Row, around: _Around) -> Iterator[Damage]:
    sources = row["source_ids"] if isinstance(row["source_ids"], list) else []
    sources = [id_ for id_ in sources if isinstance(id_, str)]
    level, tokens = (1 if any(id_ in around.texts for id_ in sources) else 2), len(str(row["content"])) // 4
    made_at = next((around.times[id_] for id_ in reversed(sources) if id_ in around.times), None) or now()
    whole, summary = _mended(
        Summary,
        row,
        level=level,
        covers=len(sources),
        tokens=tokens,
        method="extractive",
        created_at=made_at,
        version=1,
    )
    if summary is None:  # nobody knows of what: its sources stand for themselves again
        yield _damage("summaries", row["id"], around, ("doctor.drop_summary", {"id": row["id"]}))
    elif not whole:
        values = {**summary.model_dump(), "source_ids": list(summary.source_ids)}
        yield _damage("summaries", row["id"], around, ("doctor.mend_summary", values))


def _version(row: Row, around: _Around) -> Iterator[Damage]:
    fields = {name: row[name] for name in SummaryVersion.model_fields}
    whole, version = _mended(SummaryVersion, fields, tokens=0, method="extractive", replaced_at=now())
    of = {"id": row["id"], "version": row["version"]}
    if version is None:
        yield _damage("summary_versions", row["id"], around, ("doctor.drop_version", of))
    elif not whole:
        yield _damage("summary_versions", row["id"], around, ("doctor.mend_version", {**of, **version.model_dump()}))


def _fact(row: Row, around: _Around) -> Iterator[Damage]:
    said_at = around.times.get(row["source_id"]) or now()
    is_open = row["state"] in {"current", "conflicting"}
    ended = "superseded" if row["superseded_by"] else "forgotten"
    known = row["state"] if is_open or row["state"] in {"superseded", "forgotten"} else None
    state = known or (ended if row["valid_to"] else "current")
    is_open = state in {"current", "conflicting"}
    fixed = {**row, "state": state, "valid_to": None if is_open else row["valid_to"] or row["confirmed_at"] or now()}
    _, fact = _mended(
        Fact, fixed, kind="biography", said_at=said_at, confirmed_at=said_at, valid_from=said_at, confidence=0.5,
        origin="pattern", negated=False, settles=False, terms=(), subject="user",
    )  # fmt: skip
    if fact is not None and _reads(Fact, row) and row["has_end"] == (row["valid_to"] is not None):
        return
    again: list[Statement] = [("doctor.drop_fact", {"id": row["id"]})]
    if fact is not None:
        fact = read_again(fact, around.texts.get(fact.source_id, ""))
        again.append(("facts.upsert_facts", {"rows": Json([fact_row(around.user_id, fact)]), "read_again": True}))
    elif is_open:  # what it said is read again; what was forgotten stays so
        again.append(("doctor.read_again", {"ids": [row["source_id"]]}))
    yield _damage("facts", row["id"], around, *again)


def _pin(row: Row, around: _Around) -> Iterator[Damage]:
    text = row["text"] if isinstance(row["text"], str) and row["text"] else around.texts.get(row["source_id"])
    said_at = around.times.get(row["source_id"]) or now()
    _, pin = _mended(Pin, {**row, "text": text}, kind="manual", score=0.8, created_at=said_at)
    if pin is not None and _reads(Pin, row):
        return
    again: list[Statement] = [("doctor.drop_pin", {"id": row["id"]})]
    if pin is not None:
        again.append(("facts.upsert_pins", {"rows": Json([pin.model_dump(mode="json")])}))
    yield _damage("pins", row["id"], around, *again)


def _report(row: Row, around: _Around) -> Iterator[Damage]:
    if not isinstance(row["report"], dict) or type(row["turn"]) is not int or row["turn"] < 1 or not row["started_at"]:
        yield _damage("turn_reports", row["turn"], around, ("doctor.drop_report", {"turn": row["turn"]}))


def _vector(row: Row, around: _Around) -> Iterator[Damage]:
    try:
        check_message(1, row["role"], row["created_at"])
        whole = bool(row["dimensions"])
    except ValueError:
        whole = False
    if not whole:
        ids = {"ids": [row["source_id"]]}
        yield _damage(
            "vectors", row["source_id"], around, ("doctor.drop_vector", {"id": row["id"]}),
            ("doctor.queue_messages", ids), ("doctor.queue_summaries", ids),
        )  # fmt: skip


_LOOKS: Final[Sequence[tuple[str, Look]]] = (
    ("archive.messages", _message),
    ("doctor.thread", _thread),
    ("archive.summaries", _summary),
    ("doctor.versions", _version),
    ("doctor.all_facts", _fact),
    ("doctor.all_pins", _pin),
    ("doctor.reports", _report),
    ("doctor.each_vector", _vector),
)


def _damage(table: str, id_: object, around: _Around, *mend: Statement) -> Damage:
    where = {"thread_id": around.thread_id}
    return Damage(f"{id_} in {table}", [(name, {**where, **values}) for name, values in mend])


def _reads(kind: type[R], row: Mapping[str, Any]) -> bool:
    return _mended(kind, row)[0]


def _mended(kind: type[R], row: Mapping[str, Any], /, **instead: Any) -> tuple[bool, R | None]:
    """Whether a record can be read as it is, and the record, with these values instead of those that are damaged."""
    values = {name: row[name] for name in kind.model_fields}
    try:
        return True, kind.model_validate(values)
    except ValidationError as error:
        damaged = {str(fault["loc"][0]) for fault in error.errors() if fault["loc"]}
    fields = {name: None for name in damaged if kind.model_fields[name].default is None}
    try:
        return False, kind.model_validate({**values, **fields, **{n: instead[n] for n in damaged if n in instead}})
    except ValidationError:
        return False, None
