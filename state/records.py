"""The records that flow through the graph and into the archive: `Summary`, `Memory`, `SearchOutcome`, ...

All are immutable pydantic models, so that they validate, serialize to JSON, and show up readable in Studio.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple, TypedDict

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

EVERTHREAD_NAMESPACE: Final = uuid.UUID("8f8bd3a6-92f4-5d0e-9c0b-0e6f3f1f6a11")
"""The UUIDv5 namespace of every id that everthread derives."""

MASTER_LEVEL: Final = 0
"""The level of the master summary, which stands above all numbered levels."""

COLUMN_MOST: Final = 2**31 - 1
"""The most that a number of a record is: what the column of a database holds."""

MOST_VERSIONS: Final = 2**30
"""Beyond all texts that a summary may have; one more is still a number that a column of a database holds."""

Role = Literal["user", "assistant", "system", "tool", "agent", "observer"]
SourceType = Literal["message", "summary"]
SummaryMethod = Literal["model", "extractive", "user"]
"""What wrote a summary: a model, the extractive summarizer, or a person who corrected it."""


def covered(counts: Iterable[object]) -> int:
    """How many messages sources stand for together; a count that is damaged (no number, negative) is none."""
    return min(sum(count for count in counts if isinstance(count, int) and count > 0), COLUMN_MOST)


def now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(UTC)


class Place(NamedTuple):
    """Where a message stands in its conversation, and when it was said."""

    seq: int
    said_at: datetime


class Record(BaseModel):
    """The base of every record: immutable, and closed against unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Summary(Record):
    """A summary and what it was made from (seed `000`, "Summary Structure").

    Its id is the UUIDv5 of level and sources, so that a summary made twice is stored once.
    """

    id: str
    content: str
    level: int = Field(ge=0, le=COLUMN_MOST, description="1, 2, ...; 0 is the master summary.")
    source_ids: tuple[str, ...] = Field(min_length=1, description="Messages or summaries, in the order of the chain.")
    method: SummaryMethod = "extractive"
    model: str | None = None
    tokens: int = Field(0, ge=0, le=COLUMN_MOST)
    covers: int = Field(
        0, ge=0, le=COLUMN_MOST, description="How many messages it stands for, directly or through its sources."
    )
    rejected: str | None = Field(
        None, description="Why the model's text was not taken; such a summary is made again in a later turn."
    )
    version: int = Field(
        1, ge=1, le=MOST_VERSIONS, description="Grows when it is made again from the same sources; the id stays."
    )
    created_at: AwareDatetime = Field(default_factory=now)

    @property
    def source_type(self) -> SourceType:
        """What the sources are: messages for level 1, summaries above."""
        return "message" if self.level == 1 else "summary"

    @staticmethod
    def id_for(thread_id: str, level: int, source_ids: Iterable[str]) -> str:
        """The id of the summary of these sources at this level in this thread."""
        return str(uuid.uuid5(EVERTHREAD_NAMESPACE, "\x1f".join([thread_id, str(level), *source_ids])))


class Fragment(Record):
    """One message (or summary) inside a memory (seed `000`, "Memory Structure")."""

    id: str
    role: Role
    content: str
    name: str | None = None
    seq: int = Field(0, ge=0, description="Its place in its thread, from 1; 0 for a summary.")
    created_at: AwareDatetime | None = None
    passage: str = Field("", description="The part of a long one that is nearest to the question by meaning.")


class Memory(Record):
    """Something recalled from earlier: a pair of messages, a tool exchange, or a summary (with some of its sources).

    `similarity` is in [0, 1], on one scale for all embedding models (`models.similarity`). Ranks count from 1: `rank`
    among all that was found, the others in the arm that found it; an arm that did not has none. `score` is that of the
    fusion, in units of idf.
    """

    fragments: tuple[Fragment, ...] = Field(min_length=1)
    source_type: SourceType
    source_ids: tuple[str, ...]
    thread_id: str
    similarity: float | None = Field(None, ge=0.0, le=1.0)
    score: float = 0.0
    vector_rank: int | None = Field(None, ge=1)
    keyword_rank: int | None = Field(None, ge=1)
    rank: int = Field(ge=1)
    created_at: AwareDatetime
    space: str | None = Field(None, description="The team space that it is from; None for the user's own memory.")


class Hit(Record):
    """A message or summary that was found, before pairing; its figures are those of `Memory`."""

    source_type: SourceType
    source_id: str
    thread_id: str
    role: Role
    similarity: float | None = Field(None, ge=0.0, le=1.0)
    score: float = 0.0
    relevance: float = Field(1.0, ge=0.0, le=1.0, description="How likely, by its score, it is what is asked for.")
    vector_rank: int | None = Field(None, ge=1)
    keyword_rank: int | None = Field(None, ge=1)
    rank: int = Field(ge=1)
    created_at: AwareDatetime


class Recall(Record):
    """What memory retrieval found in this turn, and what kept it from finding more.

    Its `memories` are those that the prompt holds, once it is assembled.
    """

    hits: tuple[Hit, ...] = ()
    memories: tuple[Memory, ...] = ()
    least: float = Field(0.0, description="The relevance from which hits become memories.")
    nearest: float | None = Field(
        None, description="The highest similarity of all that was compared, whether it was enough or not, in [0, 1]."
    )
    error: str | None = Field(None, description="Why recall was incomplete: one sentence, or nothing.")


class ThreadRow(TypedDict):
    """A thread in a list."""

    thread_id: str
    name: str | None
    """What its creator calls it; None where that is the id."""
    created_at: datetime
    messages: int
    """How many it has."""
    last_at: datetime | None
    """When the newest was said."""


class Deleted(Record):
    """How much was deleted, and how much of what is left was rewritten without it."""

    threads: int
    messages: int
    summaries: int
    facts: int
    pins: int
    rewritten: int = Field(0, description="Summaries above it, which stand for what is left now.")
    reports: int = Field(0, description="Reports of turns that quoted it.")
    documents: int = Field(0, description="Of agents, kept beside the conversations, that quoted it.")


class RetentionRun(Record):
    """What retention has deleted in one run, or would: counts, and nothing of what it said."""

    started_at: AwareDatetime
    milliseconds: float
    threads: int = Field(0, description="From which something went.")
    messages: int = 0
    summaries: int = Field(0, description="That went with their messages, or were made again without them.")
    reports: int = 0
    search_results: int = 0
    checkpoints: int = 0
    busy: int = Field(0, description="Threads that are left to the next run, since a turn ran in them.")
    error: str | None = Field(None, description="What kept it from going on: one sentence, or nothing.")

    def __str__(self) -> str:
        kinds = ("messages", "summaries", "reports", "search_results", "checkpoints")
        counts = ", ".join(f"{getattr(self, kind)} {kind.replace('_', ' ')}" for kind in kinds)
        busy = f"; {self.busy} in use are left to the next run" if self.busy else ""
        return f"{counts}, in {self.threads} threads{busy}"
