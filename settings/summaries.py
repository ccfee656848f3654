"""`ThresholdSettings` and `SummarySettings`: when messages become summaries, and how these are written."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from pydantic import Field

from .forms import Group, on_node, threshold

SummaryWindow = Literal["last", "oldest", "topic"]

_BY_TOPIC: Final = "topic: those up to a change of topic. last, oldest: as many as the other thresholds say."


class SummarySettings(Group):
    """How summaries are written."""

    group: ClassVar[str] = "Summaries"

    summary_length: int = Field(
        150,
        title="Length of a summary",
        ge=10,
        le=10_000,
        description="Target length of a summary, in tokens; by default less in a prompt of less than half the usual. "
        "Without a model, one of 50 messages or more has twice, one of 150 three times as many, but in the profile "
        "archive, whose summaries have a budget together.",
        json_schema_extra=on_node("summarize", capped=True),
    )
    summary_fallback: bool = Field(
        True,
        title="Summarize without a model where it fails",
        description="Whether the extractive summarizer serves where the summary model fails. If not, the messages stay "
        "as they are, and the next turn tries again.",
        json_schema_extra=on_node("summarize", trusted=True),
    )

    @property
    def max_summary_chars(self) -> int:
        """Characters of a summary, at most: those of seed `001` for its 400 tokens, and as many a token above."""
        return max(2000, 5 * self.summary_length)


class ThresholdSettings(Group):
    """When summaries are made, by the names of the seeds. Each profile has some of them."""

    group: ClassVar[str] = "Thresholds of the profiles"

    n_sum: int = threshold(
        6,
        title="Messages before a summary",
        ge=2,
        le=10_000,
        multi_strategy="messages in the live chain that trigger a level-1 summary.",
    )
    sum_window: int = threshold(
        3,
        title="Messages per summary",
        ge=1,
        le=10_000,
        multi_strategy="messages in each summary; also the summaries of the highest level that make the master "
        "summary.",
    )
    n_sum_sum: int = threshold(
        3,
        title="Summaries before one of the next level",
        ge=2,
        le=1000,
        multi_strategy="summaries of one level that become one of the next.",
        layered="medium summaries that become one long summary.",
    )
    max_sum_lvl: int = threshold(
        3,
        title="Highest level",
        ge=1,
        le=20,
        multi_strategy="the highest level of summary below the master summary.",
    )
    summary_window: SummaryWindow = threshold(
        "last",
        title="Which messages are summarized",
        multi_strategy="last: the last ones of the chain, as seed 000 says. oldest: the oldest. topic: the oldest up "
        "to a change of topic. The prompt shows what was just said as it was said with any.",
        sliding_summary=_BY_TOPIC,
        hybrid=_BY_TOPIC,
        archive=_BY_TOPIC,
        layered=_BY_TOPIC,
    )
    message_threshold: int = threshold(
        20,
        title="Messages before a summary",
        ge=1,
        le=500,
        sliding_summary="messages, all there are, that trigger the first summary; half as many beyond the recent ones "
        "that are in none yet have it made again.",
        hybrid="messages since the last summary that trigger one.",
        layered="messages older than the recent ones that trigger a medium summary. It takes up to two more, to the "
        "end of an exchange.",
    )
    token_threshold: int = threshold(
        8000,
        title="Tokens before a summary",
        ge=100,
        le=10_000_000,
        sliding_summary="estimated tokens that trigger the first summary before the messages are that many.",
        layered="tokens of medium summaries that go into the long one before they are that many.",
    )
    keep_recent: int = threshold(
        10,
        title="Recent messages kept",
        ge=0,
        le=500,
        sliding_summary="the newest messages that stay in the chain as they were said.",
        hybrid="the newest messages that stay in the chain as they were said.",
        layered="the newest messages that stay in the chain as they were said.",
    )
    summary_every_n: int = threshold(
        10,
        title="Messages of the user before a summary",
        ge=1,
        le=500,
        archive="messages of the user after which all that is said is summarized and archived.",
    )
    max_level_summaries: int = threshold(
        5,
        title="Summaries of one level",
        ge=1,
        le=100,
        archive="summaries of one level that may stand; of more, that many become one of the next level.",
    )
    max_active_summaries: int = threshold(
        10,
        title="Summaries that stand, at most",
        ge=1,
        le=200,
        hybrid="summaries that stand in the chain, at most; of more, all but the newest become one.",
        archive="summaries that stand in the chain, at most.",
    )
