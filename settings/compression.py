"""`CompressionSettings`: when messages become summaries, and how long these are."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from .forms import on_node
from .profile import ProfileSettings

SummaryWindow = Literal["last", "oldest"]


class LevelSettings(BaseModel):
    """The thresholds of `multi_strategy` (seed 000), whose levels `layered` shares."""

    n_sum: int = Field(
        6,
        ge=2,
        le=10_000,
        description="multi_strategy: messages in the live chain that trigger a level-1 summary.",
        json_schema_extra=on_node("summarize"),
    )
    sum_window: int = Field(
        3,
        ge=1,
        le=10_000,
        description="multi_strategy: messages in each summary; also the summaries of the highest level that make the "
        "master summary.",
        json_schema_extra=on_node("summarize"),
    )
    n_sum_sum: int = Field(
        3,
        ge=2,
        le=1000,
        description="multi_strategy, layered: summaries of one level that become one of the next.",
        json_schema_extra=on_node("summarize"),
    )
    max_sum_lvl: int = Field(
        3,
        ge=1,
        le=20,
        description="multi_strategy: the highest level of summary below the master summary.",
        json_schema_extra=on_node("summarize"),
    )
    summary_window: SummaryWindow = Field(
        "last",
        description="multi_strategy: which messages of the chain are summarized: the last ones, as seed 000 says, or "
        "the oldest. With the last ones, what was just said stands as a summary in the next turn; with the oldest, the "
        "newest messages stay as said.",
        json_schema_extra=on_node("summarize"),
    )


class WindowSettings(BaseModel):
    """The thresholds of `sliding_summary`, `hybrid`, `archive` and `layered` (seeds 001 to 004)."""

    message_threshold: int = Field(
        20,
        ge=1,
        le=500,
        description="Messages that trigger a summary. sliding_summary: all there are, for the first. hybrid: those "
        "since the last summary. layered: those older than `keep_recent`, which make a batch.",
        json_schema_extra=on_node("summarize"),
    )
    regenerate_after: int = Field(
        10,
        ge=1,
        le=500,
        description="sliding_summary: messages beyond `keep_recent` that are not in the summary yet and have it made "
        "again.",
        json_schema_extra=on_node("summarize"),
    )
    token_threshold: int = Field(
        8000,
        ge=100,
        le=10_000_000,
        description="sliding_summary: estimated tokens that trigger a summary before the messages are that many.",
        json_schema_extra=on_node("summarize"),
    )
    keep_recent: int = Field(
        10,
        ge=0,
        le=500,
        description="sliding_summary, hybrid, layered: the newest messages that stay in the chain as they were said.",
        json_schema_extra=on_node("summarize"),
    )
    batch_limit: int = Field(
        10,
        ge=1,
        le=1000,
        description="layered: messages in one batch, at most, where a batch goes on to the end of an exchange.",
        json_schema_extra=on_node("summarize"),
    )
    layer_tokens: int = Field(
        1500,
        ge=100,
        le=1_000_000,
        description="layered: tokens of medium summaries that go into the long one before they are `n_sum_sum`.",
        json_schema_extra=on_node("summarize"),
    )
    summary_every_n: int = Field(
        10,
        ge=1,
        le=500,
        description="archive: messages of the user after which all that is said is summarized and archived.",
        json_schema_extra=on_node("summarize"),
    )
    max_level_summaries: int = Field(
        5,
        ge=1,
        le=100,
        description="archive: summaries of one level that may stand; of more, that many become one of the next level.",
        json_schema_extra=on_node("summarize"),
    )
    max_active_summaries: int = Field(
        10,
        ge=1,
        le=200,
        description="archive, hybrid: summaries that stand in the chain, at most.",
        json_schema_extra=on_node("summarize"),
    )


class CompressionSettings(WindowSettings, LevelSettings, ProfileSettings):
    """When messages become summaries, and how long these are. `profile` says which thresholds count."""

    summary_length: int = Field(
        150,
        ge=10,
        le=10_000,
        description="Target length of a summary, in tokens.",
        json_schema_extra=on_node("summarize"),
    )
    summary_fallback: bool = Field(
        True,
        description="Whether the extractive summarizer serves where the summary model fails. If not, the messages stay "
        "as they are, and the next turn tries again.",
        json_schema_extra=on_node("summarize"),
    )

    @property
    def max_summary_chars(self) -> int:
        """Characters of a summary, at most: those of seed `001` for its 400 tokens, and as many a token above."""
        return max(2000, 5 * self.summary_length)

    @model_validator(mode="after")
    def _thresholds_agree(self) -> Self:
        if self.sum_window > self.n_sum:
            raise ValueError(
                f"sum_window is {self.sum_window} but must not be larger than n_sum, which is {self.n_sum}"
            )
        if self.profile == "sliding_summary" and self.keep_recent >= self.message_threshold:
            raise ValueError(
                f"keep_recent is {self.keep_recent} but must be smaller than message_threshold, which is "
                f"{self.message_threshold}"
            )
        if self.profile == "layered" and self.batch_limit < self.message_threshold:
            raise ValueError(
                f"batch_limit is {self.batch_limit} but must not be smaller than message_threshold, which is "
                f"{self.message_threshold}"
            )
        if self.profile == "archive" and self.max_level_summaries > self.max_active_summaries:
            raise ValueError(
                f"max_level_summaries is {self.max_level_summaries} but must not be larger than max_active_summaries, "
                f"which is {self.max_active_summaries}"
            )
        return self
