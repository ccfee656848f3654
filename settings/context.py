"""`ContextSettings`: how much goes to the model in one turn, in which order, and what is left out first."""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode

from .forms import on_node

Block = Literal["facts", "summaries", "recent", "results", "memories"]
"""A part of the prompt that has a place of its own."""

Trimmed = Literal["retrieved", "recent", "summaries", "facts"]
"""A part of the prompt that gives way; results and memories are `retrieved` together."""


def _listed(value: object) -> object:
    """A comma-separated text as a list, as the environment and the command line give it."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Blocks = Annotated[tuple[Block, ...], NoDecode, BeforeValidator(_listed)]
TrimOrder = Annotated[tuple[Trimmed, ...], NoDecode, BeforeValidator(_listed)]
Share = Annotated[float, Field(ge=0, le=2_000_000)]

_SHARE = "A number up to 1 is a share of the prompt, above it tokens; what one part leaves unused flows to the next."
_NODE = on_node("context_assembly")


class ContextSettings(BaseModel):
    """How much goes to the model in one turn, in which order, and what is left out first."""

    max_context_tokens: int = Field(
        8000,
        ge=500,
        le=2_000_000,
        description="Tokens of the assembled prompt, at most. A model with a smaller window gets what fits it beside "
        "the reply; where no window is known, the reply's room is taken from these.",
        json_schema_extra=_NODE,
    )
    max_reply_tokens: int = Field(
        1024,
        ge=16,
        le=200_000,
        description="Tokens kept free for the reply.",
        json_schema_extra=on_node("context_assembly", "llm_call"),
    )
    context_window: int | None = Field(
        None,
        ge=500,
        le=4_000_000,
        description="Tokens of the model's window, prompt and reply together, where the model does not tell it.",
        json_schema_extra=_NODE,
    )
    context_order: Blocks = Field(
        ("recent", "facts", "results", "memories"),
        description="Order of the parts of the prompt before the question, out of facts, summaries, recent, results, "
        "memories. Without `summaries`, each summary stands where its sources stood.",
        json_schema_extra=_NODE,
    )
    trim_order: TrimOrder = Field(
        ("retrieved", "recent", "summaries", "facts"),
        description="Which parts give way first when the budget is short: retrieved, recent, summaries, facts.",
        json_schema_extra=_NODE,
    )
    system_budget: Share = Field(0.25, description=f"Budget of the instructions. {_SHARE}", json_schema_extra=_NODE)
    facts_budget: Share = Field(0.1, description=f"Budget of facts and pins. {_SHARE}", json_schema_extra=_NODE)
    summaries_budget: Share = Field(0.25, description=f"Budget of summaries. {_SHARE}", json_schema_extra=_NODE)
    retrieved_budget: Share = Field(
        0.35, description=f"Budget of search results and memories. {_SHARE}", json_schema_extra=_NODE
    )
    recent_budget: Share = Field(0.4, description=f"Budget of recent messages. {_SHARE}", json_schema_extra=_NODE)
    min_recent: int = Field(
        2,
        ge=0,
        le=100,
        description="Recent messages that always stay, if need be cut short.",
        json_schema_extra=_NODE,
    )
    max_recent: int | None = Field(
        None, ge=0, le=100_000, description="Recent messages, at most; unset: all that fit.", json_schema_extra=_NODE
    )
    max_summaries: int | None = Field(
        None, ge=0, le=10_000, description="Summaries, at most, the newest; unset: all.", json_schema_extra=_NODE
    )

    @model_validator(mode="after")
    def _reply_fits(self) -> Self:
        for name in ("max_context_tokens", "context_window"):
            tokens = getattr(self, name)
            if tokens is not None and self.max_reply_tokens >= tokens:
                raise ValueError(
                    f"max_reply_tokens is {self.max_reply_tokens} but must be smaller than {name}, which is {tokens}"
                )
        return self

    @model_validator(mode="after")
    def _orders_are_whole(self) -> Self:
        wanted = {"context_order": set(get_args(Block)) - {"summaries"}, "trim_order": set(get_args(Trimmed))}
        for name, parts in wanted.items():
            given = getattr(self, name)
            missing = sorted(parts - set(given))
            if missing:
                raise ValueError(f"{name} does not say where these stand: {', '.join(missing)}")
            if len(set(given)) != len(given):
                raise ValueError(f"{name} names a part twice: {', '.join(given)}")
        return self

    @model_validator(mode="after")
    def _least_is_not_above_most(self) -> Self:
        if self.max_recent is not None and self.min_recent > self.max_recent:
            raise ValueError(
                f"min_recent is {self.min_recent} but must not be larger than max_recent, which is {self.max_recent}"
            )
        return self
