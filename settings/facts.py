"""`FactSettings`: what is noticed and kept about the user, and how much of it a turn is told."""

from __future__ import annotations

from pydantic import BaseModel, Field

from .forms import on_node


class FactSettings(BaseModel):
    """What is noticed and kept about the user, and how much of it a turn is told."""

    facts: bool = Field(
        True,
        description="Whether what the user says about themselves is kept as facts, and told in each turn.",
        json_schema_extra=on_node("memory_retrieval", "remember"),
    )
    max_facts: int = Field(
        20,
        ge=0,
        le=500,
        description="Facts told in a turn, at most; the most important ones.",
        json_schema_extra=on_node("memory_retrieval"),
    )
    max_pins: int = Field(
        5,
        ge=0,
        le=100,
        description="Pins told in a turn, at most; those that the user asked for come first.",
        json_schema_extra=on_node("memory_retrieval"),
    )
    auto_pin_score: float | None = Field(
        0.95,
        ge=0.0,
        le=1.0,
        description="The importance from which a message of the user is pinned in its thread by itself, by the table "
        "of seed 002 (0.5 to 1). Unset: none is.",
        json_schema_extra=on_node("remember"),
    )
