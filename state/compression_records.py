"""What flows about compression beside the summaries: `ThreadCompression`, and what becomes of one made again."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, AwareDatetime, Field

from .records import COLUMN_MOST, MOST_VERSIONS, Record, Summary, SummaryMethod


class ThreadCompression(Record):
    """What the user has set for one thread by commands (seed `003`, "User Commands"), and what is owed to it."""

    enabled: bool = Field(True, description="Whether messages of this thread become summaries.")
    threshold_name: str | None = Field(None, description="The setting that `threshold` stands for.")
    threshold: int | None = Field(None, ge=1, le=500, description="After how many messages, where the user said so.")
    pending: Literal["storage", "threshold"] | None = Field(None, description="What `/summary` has asked for.")
    asked_id: str | None = Field(None, description="The message that asked; only the next one can answer it.")
    regeneration_owed: bool = Field(
        False,
        validation_alias=AliasChoices("regeneration_owed", "remake_owed"),
        description="Whether a rejected summary of this thread is to be made again.",
    )
    regeneration_turn: int = Field(
        0,
        validation_alias=AliasChoices("regeneration_turn", "remake_turn"),
        ge=0,
        description="The turn before which that is not tried.",
    )
    regeneration_failures: int = Field(
        0,
        validation_alias=AliasChoices("regeneration_failures", "remake_failures"),
        ge=0,
        description="How often it failed since it last went well.",
    )


class SummaryVersion(Record):
    """An earlier text of a summary that was made again; the fields are those of `Summary`."""

    version: int = Field(ge=1, le=MOST_VERSIONS)
    content: str
    method: SummaryMethod
    model: str | None = None
    tokens: int = Field(0, ge=0, le=COLUMN_MOST)
    rejected: str | None = None
    replaced_at: AwareDatetime


class Regenerated(Record):
    """What became of a summary that was to be made again."""

    summary: Summary = Field(description="The summary that stands after it.")
    replaced: bool = Field(description="Whether it has a new text.")
    reason: str | None = Field(None, description="Why it has none: what was wrong with the new one, in a few words.")
    drift: float | None = Field(
        None, description="The share of the content words of the text before that the new one has no more, in [0, 1]."
    )
