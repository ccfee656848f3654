"""The lines of the export file: a header, then what is kept, one record a line, told apart by `kind`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from ..settings.retention import Retention
from ..state.fact_records import Fact, FactKind, FactOrigin, FactState, PinKind
from ..state.messages import cleaned, message_text
from ..state.records import COLUMN_MOST, MOST_VERSIONS, Role, SummaryMethod, now
from ..storage.values import kept_time

VERSION: Final = 7
"""The version that is written. Version 1 has no facts and no pins, version 2 no earlier texts of summaries, version 3
does not tell what has left the conversation. Until version 4, lines say `active` and `chunk_id`, which follow from the
sources of the summaries: both are read over. Until version 5, threads have no retention of their own;
until version 6, no summary is written by a person, and there are no documents."""

READABLE: Final = (1, 2, 3, 4, 5, 6, 7)

_BIGINT: Final = 2**63 - 1


def _in_utc(moment: datetime) -> datetime:
    try:
        return kept_time(moment.astimezone(UTC))
    except OverflowError:
        raise ValueError("the calendar has no such time in UTC") from None


def _retention(text: str | None) -> str | None:
    return text and str(Retention.model_validate(text))


def _json_of(kind: Any) -> AfterValidator:
    adapter = TypeAdapter(kind)
    return AfterValidator(lambda text: (adapter.validate_json(text), text)[1])


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Counts(_Line):
    """How many of each kind there are."""

    threads: int = Field(0, ge=0)
    messages: int = Field(0, ge=0)
    summaries: int = Field(0, ge=0)
    versions: int = Field(0, ge=0)
    facts: int = Field(0, ge=0)
    pins: int = Field(0, ge=0)
    documents: int = Field(0, ge=0)


class Header(_Line):
    """The first line: what the file is, whose it was, and how many lines of each kind follow."""

    kind: Literal["header"] = "header"
    format: Literal["everthread"] = "everthread"
    version: Literal[1, 2, 3, 4, 5, 6, 7] = VERSION
    created_at: Moment = Field(default_factory=now)
    user: str
    counts: Counts


class ThreadLine(_Line):
    """A thread. Its line stands before those that name it."""

    kind: Literal["thread"]
    id: str = Field(min_length=1)
    name: str | None
    created_at: Moment
    retention: Annotated[str | None, AfterValidator(_retention)] = None


class MessageLine(_Line):
    """A message: `message` is the whole LangChain message, the rest is what the archive knows of it."""

    kind: Literal["message"]
    thread: str
    id: str = Field(min_length=1)
    seq: int = Field(ge=1, le=_BIGINT)
    role: Role
    name: str | None
    created_at: Moment
    left_at: Moment | None = None
    active: bool = Field(True, exclude=True)
    chunk_id: int | None = Field(None, exclude=True)
    tokens: int = Field(ge=0, le=COLUMN_MOST)
    message: dict[str, Any]

    def said(self) -> BaseMessage:
        """The message, with nothing in it that a storage cannot keep or a model not take.

        Raises:
            ValueError: `message` is no LangChain message. Also KeyError, TypeError, and others that its parts raise.
        """
        (message,) = messages_from_dict([self.message])
        return cleaned(message)

    def kept(self) -> dict[str, Any]:
        """The message as it is stored: as the line has it, where a storage can keep that; errors as for `said`."""
        (message,) = messages_from_dict([self.message])
        said = cleaned(message)
        return self.message if said is message else message_to_dict(said)

    def text(self) -> str:
        """The readable text of the message; errors as for `said`."""
        return message_text(self.said())


class SummaryLine(_Line):
    """A summary and what it was made from."""

    kind: Literal["summary"]
    thread: str
    id: str = Field(min_length=1)
    level: int = Field(ge=0, le=COLUMN_MOST)
    content: str
    source_ids: list[str] = Field(min_length=1)
    method: SummaryMethod
    model: str | None
    tokens: int = Field(ge=0, le=COLUMN_MOST)
    covers: int = Field(0, ge=0, le=COLUMN_MOST)
    rejected: str | None = None
    version: int = Field(1, ge=1, le=MOST_VERSIONS)
    active: bool = Field(True, exclude=True)
    created_at: Moment
    left_at: Moment | None = None


class VersionLine(_Line):
    """An earlier text of a summary, whose line stands above."""

    kind: Literal["version"]
    thread: str
    id: str = Field(min_length=1)
    version: int = Field(ge=1, le=MOST_VERSIONS)
    content: str
    method: SummaryMethod
    model: str | None
    tokens: int = Field(ge=0, le=COLUMN_MOST)
    rejected: str | None
    replaced_at: Moment


class FactLine(_Line):
    """What is known about the user: the fields of `Fact`, and `sort` for its kind."""

    kind: Literal["fact"]
    thread: str
    id: str = Field(min_length=1)
    sort: FactKind
    text: str = Field(min_length=1)
    subject: str
    attribute: str | None
    value: str | None
    negated: bool
    settles: bool
    terms: list[str]
    state: FactState
    source_id: str
    said_at: Moment
    confirmed_at: Moment
    valid_from: Moment
    valid_to: Moment | None
    superseded_by: str | None
    confidence: float = Field(ge=0.0, le=1.0)
    origin: FactOrigin

    def fact(self, thread: str) -> Fact:
        """The fact, in the thread of this id.

        Raises:
            ValidationError: state and interval do not agree.
        """
        return Fact(**self.model_dump(exclude={"kind", "thread", "sort"}), kind=self.sort, thread_id=thread)


class PinLine(_Line):
    """What is kept in sight: the fields of `Pin`, and `sort` for its kind."""

    kind: Literal["pin"]
    thread: str
    id: str = Field(min_length=1)
    sort: PinKind
    text: str = Field(min_length=1)
    score: float = Field(ge=0.0, le=1.0)
    source_id: str
    created_at: Moment
    forgotten_at: Moment | None


class DocumentLine(_Line):
    """What an agent keeps beside conversations. `content` and `fields` are JSON, `namespace` its labels with dots."""

    kind: Literal["document"]
    thread: Literal[""] = ""
    namespace: str = Field(pattern=r"^[^.\x00]+(\.[^.\x00]+)*$")
    id: str = Field(pattern=r"^[^\x00]*$")
    content: Annotated[str, _json_of(dict[str, Any])]
    fields: Annotated[str, _json_of(list[str])]
    created_at: Moment
    updated_at: Moment


Body = ThreadLine | MessageLine | SummaryLine | VersionLine | FactLine | PinLine | DocumentLine
