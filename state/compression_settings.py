"""`CompressionSettings`: when messages become summaries, and how long these are."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from .forms import on_node

SummaryWindow = Literal["last", "oldest"]


class CompressionSettings(BaseModel):
    """When messages become summaries, and how long these are."""

    n_sum: int = Field(
        6,
        ge=2,
        le=10_000,
        description="Messages in the live chain that trigger a level-1 summary.",
        json_schema_extra=on_node("summarize"),
    )
    sum_window: int = Field(
        3,
        ge=1,
        le=10_000,
        description="Messages in each summary; also the summaries of the highest level that make the master summary.",
        json_schema_extra=on_node("summarize"),
    )
    n_sum_sum: int = Field(
        3,
        ge=2,
        le=1000,
        description="Summaries of one level that become one of the next.",
        json_schema_extra=on_node("summarize"),
    )
    max_sum_lvl: int = Field(
        3,
        ge=1,
        le=20,
        description="The highest level of summary below the master summary.",
        json_schema_extra=on_node("summarize"),
    )
    summary_window: SummaryWindow = Field(
        "last",
        description="Which messages of the chain are summarized: the last ones, as seed 000 says, or the oldest.",
        json_schema_extra=on_node("summarize"),
    )
    summary_length: int = Field(
        150,
        ge=10,
        le=10_000,
        description="Target length of a summary, in tokens.",
        json_schema_extra=on_node("summarize"),
    )

    @model_validator(mode="after")
    def _window_fits(self) -> Self:
        if self.sum_window > self.n_sum:
            raise ValueError(
                f"sum_window is {self.sum_window} but must not be larger than n_sum, which is {self.n_sum}"
            )
        return self
