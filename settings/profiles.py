"""Profiles: named sets of settings, one for each seed document. The policy of each is in `compression/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

ProfileName = Literal["multi_strategy", "sliding_summary", "hybrid", "archive", "layered"]


@dataclass(frozen=True)
class Profile:
    """A named set of settings. It fills only what neither a caller nor the environment has set.

    Attributes:
        name: how the setting `profile` calls it.
        description: one sentence.
        settings: values by the names of `Settings` fields.
        source: the seed document that specifies it.
        window: tokens of the model's window, prompt and reply together, where the model does not tell it.
        longer_summaries: whether an extractive summary that stands for many messages may have more tokens than others.
        summarizes_locally: whether a chat model on this machine writes summaries too, whatever `summary_model` says.
    """

    name: ProfileName
    description: str
    source: str
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    window: int | None = None
    longer_summaries: bool = True
    summarizes_locally: bool = False


_MULTI_STRATEGY = Profile(
    name="multi_strategy",
    description="Web search, memory search and hierarchical summaries together.",
    source="seed 000",
)

_SLIDING_SUMMARY = Profile(
    name="sliding_summary",
    description="One summary that is made again from itself and what was said since, before the recent messages.",
    source="seed 001",
    settings={"summary_length": 400},
)

_HYBRID = Profile(
    name="hybrid",
    description="The recent messages, up to three summaries and what was pinned, within a small budget.",
    source="seed 002",
    settings={
        "max_context_tokens": 3000,
        "max_reply_tokens": 596,
        "message_threshold": 15,
        "keep_recent": 8,
        "max_active_summaries": 3,
        "summary_length": 285,  # 200 words
    },
    window=4096,
    summarizes_locally=True,
)

_ARCHIVE = Profile(
    name="archive",
    description="Every N messages of the user all is archived as a chunk and summarized, level over level.",
    source="seed 003",
    settings={
        "summary_length": 200,  # ten of them fit the 2,000 tokens for summaries
        "summary_fallback": False,
    },
    window=16_000,
    longer_summaries=False,
)

_LAYERED = Profile(
    name="layered",
    description="Facts, then a long and some medium summaries, then the recent messages.",
    source="seed 004",
    settings={
        "message_threshold": 8,
        "keep_recent": 6,
        "token_threshold": 1500,
        "summary_length": 200,
    },
)

PROFILES: Final[Mapping[ProfileName, Profile]] = MappingProxyType(
    {profile.name: profile for profile in (_MULTI_STRATEGY, _SLIDING_SUMMARY, _HYBRID, _ARCHIVE, _LAYERED)}
)
"""Every profile by its name."""
