"""`ContextSettings`: how much goes to the model in one turn."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from .forms import Group, NamedValues, on_node


def _share(value: object) -> object:
    """A percentage as a share."""
    text = value.strip() if isinstance(value, str) else ""
    return float(text[:-1]) / 100 if text.endswith("%") and text[:-1].strip().isdecimal() else value


Share = Annotated[Annotated[float, Field(ge=0, le=2_000_000)] | None, BeforeValidator(_share)]
"""Up to 1 a share of the prompt, above it tokens."""


class Budgets(NamedValues):
    """What each part of the prompt may take before the others have theirs; None is what the profile gives it."""

    system: Share = Field(None, title="Instructions")
    facts: Share = Field(None, title="Facts and pins")
    summaries: Share = Field(None, title="Summaries")
    retrieved: Share = Field(None, title="Search results and memories")
    recent: Share = Field(None, title="Recent messages")


class ContextSettings(Group):
    """How much goes to the model in one turn."""

    group: ClassVar[str] = "Prompt"

    max_context_tokens: int = Field(
        8000,
        title="Tokens of the prompt",
        ge=500,
        le=2_000_000,
        description="Tokens of the assembled prompt, at most. A model with a smaller window gets what fits it beside "
        "the reply; where no window is known, these are taken for it, and the reply's room is taken out of them.",
        json_schema_extra=on_node("context_assembly", capped=True),
    )
    max_reply_tokens: int = Field(
        1024,
        title="Tokens of the reply",
        ge=16,
        le=200_000,
        description="Tokens kept free for the reply.",
        json_schema_extra=on_node("context_assembly", "llm_call", trusted=True),
    )
    budgets: Budgets = Field(
        Budgets(),
        title="Budgets of the prompt's parts",
        description="What each part of the prompt may take before the others have theirs, as system=10%,recent=3000: "
        "shares of the prompt, or tokens. The parts are system (the instructions), facts, summaries, retrieved (search "
        "results and memories) and recent (messages). What one leaves unused flows to the next. Unset: the profile's.",
        json_schema_extra=on_node("context_assembly"),
    )
