"""What flows about one turn: `Context` and its cost, the reply, and what was done after it."""

from __future__ import annotations

from langchain_core.messages import BaseMessage
from pydantic import Field, SerializeAsAny, SkipValidation

from .records import Record


class Context(Record):
    """The messages that go to the model."""

    messages: tuple[SerializeAsAny[SkipValidation[BaseMessage]], ...]


class Section(Record):
    """What one part of the assembled context cost, in tokens, and what is not in it."""

    name: str
    tokens: int = Field(ge=0)
    items: int = Field(ge=0)
    dropped: int = Field(0, ge=0)
    cut: int = Field(0, ge=0, description="Items of which only a part was sent.")
    granted: int = Field(0, ge=0, description="Tokens it might take.")
    reasons: tuple[str, ...] = Field((), description="Why items were dropped, each with how many.")


class ContextReport(Record):
    """What the assembled context holds: tokens by section, and what did not fit."""

    budget: int
    tokens: int
    sections: tuple[Section, ...] = ()
    tools: int = Field(0, ge=0, description="Tokens of the definitions of tools, counted in `tokens`.")
    counted_by: str = Field("estimate", description="What counted: the name of a tokenizer, or 'estimate'.")
    factor: float = Field(1.0, ge=1.0, description="By which counts are raised, learned from the provider's usage.")

    @property
    def left_out(self) -> str:
        """What is not in the context, in one sentence; nothing where all is."""
        parts = [
            f"{section.name}: {', '.join(section.reasons) or f'{section.dropped} dropped'}"
            for section in self.sections
            if section.dropped
        ]
        parts += [f"{section.name}: {section.cut} cut short" for section in self.sections if section.cut]
        return f"Left out: {'; '.join(parts)}." if parts else ""


class ReplyReport(Record):
    """Which model answered, how long it took in milliseconds, and what went wrong on the way."""

    model: str
    milliseconds: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    finish: str | None = None


class Upkeep(Record):
    """What was done after the reply: archived, embedded, summarized."""

    archived: int = 0
    embedded: int = 0
    summaries: tuple[str, ...] = Field((), description="Ids of the summaries made in this turn.")
    error: str | None = Field(None, description="What is still to be done: one sentence, or nothing.")
