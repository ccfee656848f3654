"""`TurnReport`: what happened in one turn, for a person to read. `Progress`: what it is made from beside the channels.

A report embeds the records of the turn as they are, with long texts cut to an excerpt: the whole is in the archive.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Self, TypeVar

from pydantic import AliasChoices, AwareDatetime, Field, ValidationError

from ..text.fold import lower
from ..text.shorten import beginning, one_line
from ..text.words import words
from .fact_records import Forgotten
from .records import Memory, Recall, Record, SourceType, Summary
from .search_records import SearchOutcome
from .turn_records import AfterReply, ContextReport, ModelCall, ReplyReport

R = TypeVar("R", bound=Record)

EXCERPT: Final = 160
"""Characters of what was said, or found, that a report quotes."""

_LONGEST: Final = 1000


class Progress(Record):
    """Which turn runs, and how long its nodes took. The state holds it as plain data."""

    question_id: str | None = Field(
        description="The id of the user's message that began the turn; None adds to whichever turn runs."
    )
    turn: int = Field(ge=1, description="Counts the turns of this thread, from 1.")
    started_at: AwareDatetime
    milliseconds: Mapping[str, float] = Field(description="By node; of one that ran several times, the sum.")
    before: str | None = Field(None, description="The id of the user's message that began the turn before.")

    @classmethod
    def read(cls, value: Any) -> Self | None:
        """The progress in a channel; None where there is none that can be read."""
        return _read_record(cls, value)


class Recalled(Record):
    """A memory as a report names it: how it begins, and the figures of the `Memory`."""

    source_type: SourceType
    source_ids: tuple[str, ...]
    thread_id: str
    similarity: float | None = None
    score: float = 0.0
    vector_rank: int | None = None
    keyword_rank: int | None = None
    rank: int
    created_at: AwareDatetime
    space: str | None = None
    excerpt: str
    used: float | None = Field(
        None, description="The share of what the reply says beyond the question that the memory says too, in [0, 1]."
    )

    @classmethod
    def of(cls, memory: Memory, told: Collection[str] = ()) -> Recalled:
        """What a report says of a memory; `told` are the words that the reply has beyond the question."""
        figures = {name: getattr(memory, name) for name in Memory.model_fields if name in cls.model_fields}
        text = "\n".join(fragment.content for fragment in memory.fragments)
        used = len(frozenset(told).intersection(words(lower(text)))) / len(told) if told else None
        return cls(**figures, excerpt=one_line(text, EXCERPT), used=None if used is None else round(used, 3))

    @property
    def arms(self) -> str:
        """What found it: "meaning", "words" or "meaning and words"; "place" where all that was said was asked for."""
        found = {"meaning": self.vector_rank, "words": self.keyword_rank}
        return " and ".join(arm for arm, rank in found.items() if rank is not None) or "place"


class TurnReport(Record):
    """What happened in one turn (seed `000`, "Monitoring and Analytics"). What did not take place is None."""

    turn: int = Field(ge=1, description="Counts the turns of this thread, from 1.")
    question: str = Field(description="How the user's message begins.")
    started_at: AwareDatetime
    milliseconds: float = Field(
        description="From the start of the turn to its end; where it was resumed, the break is in it."
    )
    nodes: Mapping[str, float] = Field(description="Milliseconds by node; of one that ran several times, the sum.")
    forgotten: Forgotten | None = Field(
        None, description="What became of a request to forget. Of one that is not archived, the report has no question."
    )
    search: SearchOutcome | None = Field(None, description="Whether the web was searched, why, for what; the results.")
    recall: Recall | None = Field(None, description="How memory search went, without what it found.")
    hits: int = Field(0, ge=0, description="What memory search found, also of what is in the chain.")
    memories: tuple[Recalled, ...] = Field((), description="The memories in the prompt, with their arms and scores.")
    context: ContextReport | None = Field(None, description="Tokens by section, and what was dropped.")
    reply: ReplyReport | None = Field(None, description="Which model answered, with how many tokens.")
    after_reply: AfterReply | None = Field(
        None,
        validation_alias=AliasChoices("after_reply", "upkeep"),
        description="What was archived and summarized after the reply.",
    )
    summaries: tuple[Summary, ...] = Field((), description="The summaries that were made in this turn.")
    stopped: bool = Field(False, description="Whether the reply was stopped: what had been shown of it is kept.")
    degraded: tuple[str, ...] = Field((), description="What failed without failing the turn: one sentence each.")
    unfinished: str | None = Field(None, description="Where the turn broke off: one sentence, or nothing.")

    @property
    def calls(self) -> tuple[ModelCall | ReplyReport, ...]:
        """All requests to chat models in this turn: rounds of tools and summaries too, and those that failed."""
        reply, after = self.reply, self.after_reply
        return (*(reply.calls or (reply,) if reply else ()), *(after.calls if after else ()))

    @classmethod
    def read(cls, value: Any) -> Self | None:
        """The report in a channel; None where there is none that can be read."""
        return _read_record(cls, value)


def reply_and_context(report: Any) -> tuple[ReplyReport | None, ContextReport | None]:
    """Of the report in a channel these two alone: each turn asks for them, and the rest is much to read."""
    parts = report if isinstance(report, Mapping) else dict(report) if isinstance(report, TurnReport) else {}
    return _read_record(ReplyReport, parts.get("reply")), _read_record(ContextReport, parts.get("context"))


def _read_record(kind: type[R], value: Any) -> R | None:
    """A record from the plain data of a channel, or as earlier versions kept it; None where it cannot be read."""
    if isinstance(value, kind):
        value = dict(value)  # one out of a checkpoint may hold plain data where this version has records
    if not isinstance(value, Mapping):
        return None
    try:
        return kind.model_validate({name: field for name, field in value.items() if name in kind.model_fields})
    except ValidationError:
        return None


def as_plain(value: Any) -> dict[str, Any] | None:
    """The progress in a channel as plain data; None where there is none that can be read."""
    if isinstance(value, dict) and value.keys() == Progress.model_fields.keys():
        return value
    progress = Progress.read(value)  # as earlier versions kept it
    return None if progress is None else progress.model_dump(mode="json")


def advanced(left: Any, right: Any) -> Any:
    """The reducer of `progress`: nodes of one turn add up, the first of another turn replaces. Never raises."""
    before, after = as_plain(left), as_plain(right)
    if before is None or after is None:
        return right if after is None else after
    if after["question_id"] not in {None, before["question_id"]}:
        return {**after, "before": before["question_id"]}
    milliseconds = dict(before["milliseconds"])
    for node, spent in after["milliseconds"].items():
        milliseconds[node] = round(milliseconds.get(node, 0.0) + spent, 1)
    return {**before, "milliseconds": milliseconds}


def brief(record: R) -> R:
    """The record with the texts in it cut: `content` to an excerpt, others where they are very long."""
    short = {name: _brief(value, name) for name in type(record).model_fields if (value := getattr(record, name))}
    return record.model_copy(update=short)


def _brief(value: Any, name: str) -> Any:
    if isinstance(value, str):
        if name == "content":
            return one_line(value, EXCERPT)
        return beginning(value, _LONGEST)
    if isinstance(value, Record):
        return brief(value)
    return tuple(_brief(item, name) for item in value) if isinstance(value, tuple) else value
