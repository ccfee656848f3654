"""What commands print as JSON: one record each, so that a program may rely on its fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import typer
from pydantic import AwareDatetime, BaseModel, Field, TypeAdapter

from ..state.compression_records import SummaryVersion
from ..state.fact_records import Fact, Pin
from ..state.records import Record, Role, Summary
from ..state.report_records import TurnReport
from ..storage.archive_rows import ArchivedMessage
from ..storage.sources import SummaryTree


class ThreadLine(Record):
    """A thread of the user."""

    thread_id: str
    name: str | None = Field(description="As it was called where it was begun; null where it has only an id.")
    created_at: AwareDatetime
    messages: int = Field(ge=0)
    last_at: AwareDatetime | None = Field(description="When its newest message was said.")


class MessageLine(Record):
    """A message as it was said."""

    id: str
    thread_id: str
    seq: int = Field(ge=1, description="Its place in its thread, from 1.")
    role: Role
    name: str | None
    text: str
    tokens: int = Field(ge=0, description="An estimate.")
    created_at: AwareDatetime
    left_at: AwareDatetime | None = Field(description="When it left the conversation: edited, removed, answered again.")
    chunk_id: int | None = Field(
        description="The number of the batch in which it was summarized; null where it was not."
    )

    @classmethod
    def of(cls, message: ArchivedMessage) -> MessageLine:
        """The line of a message of the archive."""
        return cls(**{name: getattr(message, name) for name in cls.model_fields})


class SummaryLine(Record):
    """A summary, and what it was made from: messages, and summaries with theirs in turn by their ids."""

    summary: Summary
    versions: tuple[SummaryVersion, ...] = Field((), description="Its earlier texts, where it was asked for alone.")
    summaries: tuple[Summary, ...] = Field(description="All summaries under it; `source_ids` says which under which.")
    messages: tuple[MessageLine, ...] = Field(description="All messages under it, in the order they were said.")
    missing: tuple[str, ...] = Field(description="Ids of sources that the archive does not have.")

    @classmethod
    def of(cls, tree: SummaryTree, versions: Sequence[SummaryVersion] = ()) -> SummaryLine:
        """The line of a tree; a flat one, as a tree may be a thousand summaries deep."""
        below: list[Summary] = []
        missing: list[str] = []
        waiting = [tree]
        while waiting:
            branch = waiting.pop()
            missing += branch.missing
            inner = [source for source in branch.sources if isinstance(source, SummaryTree)]
            below += [source.summary for source in inner]
            waiting += inner
        said = tuple(MessageLine.of(message) for message in tree.messages())
        return cls(
            summary=tree.summary,
            versions=tuple(versions),
            summaries=tuple(below),
            messages=said,
            missing=tuple(missing),
        )


class Known(Record):
    """What is known about the user."""

    facts: tuple[Fact, ...]
    pins: tuple[Pin, ...]


RECORDS: Final[Mapping[str, Any]] = {
    "threads": list[ThreadLine],
    "history": list[MessageLine],
    "trace": list[SummaryLine],
    "facts": Known,
    "explain": TurnReport,
}
"""What each command prints with `--json`; `eval` prints a list of `doors.evaluation.Evaluation`."""


def print_json(records: BaseModel | Iterable[BaseModel]) -> None:
    """Print a record, or a list of them."""
    if isinstance(records, BaseModel):
        typer.echo(records.model_dump_json(indent=2))
        return
    typer.echo(TypeAdapter(list[Any]).dump_json([one.model_dump(mode="json") for one in records], indent=2).decode())


def schema_text(record: Any) -> str:
    """The JSON schema of a record, for the docs."""
    return json.dumps(TypeAdapter(record).json_schema(), indent=2, ensure_ascii=False)
