"""`FactSettings`: what is noticed and kept about the user, and how much of it a turn is given."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from .forms import Group, on_node


class FactSettings(Group):
    """What is noticed and kept about the user, and how much of it a turn is given."""

    group: ClassVar[str] = "Facts and pins"

    facts: bool = Field(
        True,
        title="Keep facts about the user",
        description="Whether what the user says about themselves is kept as facts that the model is shown.",
        json_schema_extra=on_node("memory_retrieval", "remember", capped=True),
    )
    max_facts: int = Field(
        20,
        title="Facts in a turn",
        ge=0,
        le=500,
        description="Facts in a turn, at most; the most important ones.",
        json_schema_extra=on_node("memory_retrieval", capped=True),
    )
    max_pins: int = Field(
        5,
        title="Pins in a turn",
        ge=0,
        le=100,
        description="Pins in a turn, at most; those that the user asked for come first.",
        json_schema_extra=on_node("memory_retrieval", capped=True),
    )
    auto_pin_score: float | None = Field(
        None,
        title="Importance from which a message is pinned",
        ge=0.0,
        le=1.0,
        description="The importance from which a message of the user is pinned in its thread by itself, by the table "
        "of seed 002 (0.5 to 1), such as 0.95; sentences with dates, decisions or needs of others are then, too. "
        "Unset: only what the user asks to remember is pinned.",
        json_schema_extra=on_node("remember"),
    )
