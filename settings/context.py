"""`ContextSettings`: how much goes to the model in one turn."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode

from .forms import Parts, on_node


def _share(value: object) -> object:
    """A percentage as a share."""
    text = value.strip() if isinstance(value, str) else ""
    return float(text[:-1]) / 100 if text.endswith("%") and text[:-1].strip().isdecimal() else value


Share = Annotated[float | None, BeforeValidator(_share), Field(ge=0, le=2_000_000)]
"""Up to 1 a share of the prompt, above it tokens."""

_NODE = on_node("context_assembly")


class Budgets(Parts):
    """What each part of the prompt may take before the others have theirs; None is what the profile gives it."""

    system: Share = Field(None, title="Instructions")
    facts: Share = Field(None, title="Facts and pins")
    summaries: Share = Field(None, title="Summaries")
    retrieved: Share = Field(None, title="Search results and memories")
    recent: Share = Field(None, title="Recent messages")


class ContextSettings(BaseModel):
    """How much goes to the model in one turn."""

    max_context_tokens: int = Field(
        8000,
        ge=500,
        le=2_000_000,
        description="Tokens of the assembled prompt, at most. A model with a smaller window gets what fits it beside "
        "the reply; where no window is known, these are taken for it, and the reply's room is taken out of them.",
        json_schema_extra=_NODE,
    )
    max_reply_tokens: int = Field(
        1024,
        ge=16,
        le=200_000,
        description="Tokens kept free for the reply.",
        json_schema_extra=on_node("context_assembly", "llm_call"),
    )
    budgets: Annotated[Budgets, NoDecode] = Field(
        Budgets(),
        description="What each part of the prompt may take before the others have theirs, as system=10%,recent=3000: "
        "shares of the prompt, or tokens. The parts are system (the instructions), facts, summaries, retrieved (search "
        "results and memories) and recent (messages). What one leaves unused flows to the next. Unset: the profile's.",
        json_schema_extra=_NODE,
    )

    @model_validator(mode="after")
    def _reply_fits(self) -> Self:
        if self.max_reply_tokens >= self.max_context_tokens:
            raise ValueError(
                f"max_reply_tokens is {self.max_reply_tokens} but must be smaller than max_context_tokens, which is "
                f"{self.max_context_tokens}"
            )
        return self
