"""What flows about one turn: `Context` and its cost, the reply, and what was done after it."""

from __future__ import annotations

from typing import Annotated, Literal

from langchain_core.messages import BaseMessage
from pydantic import AliasChoices, Field, SerializeAsAny, SkipValidation, WithJsonSchema

from .records import Record

Finish = Literal["stop", "length", "refusal", "tool_calls", "other"]
"""Why a reply ended: it was complete, cut by a limit of length, refused, it calls tools, or a reason of its own."""

FailureKind = Literal[
    "timeout", "rate_limit", "server", "connection", "context", "refusal", "quota", "key", "empty", "broken", "other"
]
"""Why a model gave no reply; `context`: the prompt was too long, `broken`: it broke off after it had begun to speak."""


class Context(Record):
    """The messages that go to the model."""

    # The schema says no more than this: pydantic cannot tell that of a message both here and in another channel.
    messages: Annotated[
        tuple[SerializeAsAny[SkipValidation[BaseMessage]], ...],
        WithJsonSchema({"type": "array", "items": {"type": "object"}}),
    ]


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
    begins: tuple[str, ...] = Field(
        (), description="Ids of what stands before the conversation as said, and of the message with which that begins."
    )

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


class ModelCall(Record):
    """One request to a chat model: how long it took in milliseconds, what it cost in tokens, and how it ended."""

    model: str
    milliseconds: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = Field(None, description="Of the input, what the provider's prompt cache served.")
    finish: Finish | None = None
    failure: FailureKind | None = None
    error: str | None = Field(None, description="What went wrong, in the provider's words; nothing where it answered.")


class ReplyReport(Record):
    """Which model answered, how long it took in milliseconds, and what went wrong on the way.

    Tokens are those of the request that gave the reply; `calls` has all requests of the turn, the failed ones too.
    """

    model: str
    milliseconds: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = Field(None, description="Of the input, what the provider's prompt cache served.")
    finish: Finish | None = None
    finish_given: str | None = Field(None, description="The provider's own word for `finish`.")
    calls: tuple[ModelCall, ...] = ()
    tool_rounds: int = Field(0, ge=0, description="Rounds of tool calls before this reply.")
    sources: tuple[str, ...] = Field((), description="Addresses of the web results that the reply cites.")
    degraded: tuple[str, ...] = Field((), description="What could not be done as asked: one sentence each.")


class Coherence(Record):
    """How far a summary made in a turn agrees with what it was made from: messages, or the summaries a level below."""

    summary_id: str
    level: int
    method: Literal["model", "extractive"]
    score: float = Field(ge=0.0, le=1.0, description="The share of its content words that its sources have.")


class AfterReply(Record):
    """What was done after the reply: archived, summarized. Embedding and reading for facts go on after the turn."""

    archived: int = 0
    summaries: tuple[str, ...] = Field((), description="Ids of the summaries made in this turn.")
    regenerated: tuple[str, ...] = Field(
        (),
        validation_alias=AliasChoices("regenerated", "remade"),
        description="Ids of earlier summaries that were made again in this turn.",
    )
    not_regenerated: str | None = Field(
        None,
        validation_alias=AliasChoices("not_regenerated", "not_remade"),
        description="Why one that was to be made again was not: one sentence.",
    )
    calls: tuple[ModelCall, ...] = Field((), description="The requests to the summary model.")
    coherence: tuple[Coherence, ...] = Field((), description="Of the summaries made in this turn.")
    error: str | None = Field(None, description="What is still to be done: one sentence, or nothing.")
    degraded: tuple[str, ...] = Field((), description="What could not be done as asked: one sentence each.")
