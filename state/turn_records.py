"""What flows about one turn: `Context` and its cost, the reply, and what was done after it."""

from __future__ import annotations

from langchain_core.messages import BaseMessage
from pydantic import Field, SerializeAsAny, SkipValidation

from .records import Record


class Context(Record):
    """The messages that go to the model."""

    messages: tuple[SerializeAsAny[SkipValidation[BaseMessage]], ...]


class Section(Record):
    """What one part of the assembled context cost."""

    name: str
    tokens: int = Field(ge=0)
    items: int = Field(ge=0)
    dropped: int = Field(0, ge=0)


class ContextReport(Record):
    """What the assembled context holds: tokens by section, and what did not fit."""

    budget: int
    tokens: int
    sections: tuple[Section, ...] = ()


class ReplyReport(Record):
    """Which model answered, how long it took in milliseconds, and what went wrong on the way."""

    model: str
    milliseconds: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    finish: str | None = None


class Upkeep(Record):
    """What was done after the reply: archived, embedded, read for facts, summarized."""

    archived: int = 0
    embedded: int = 0
    facts: int = Field(0, description="Facts that are new or changed.")
    summaries: tuple[str, ...] = Field((), description="Ids of the summaries made in this turn.")
    error: str | None = Field(None, description="What is still to be done: one sentence, or nothing.")
