"""Profiles: named sets of settings, one for each seed document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

ProfileName = Literal["multi_strategy"]


@dataclass(frozen=True)
class Profile:
    """A named set of settings. It fills only what neither a caller nor the environment has set.

    Attributes:
        name: how the setting `profile` calls it.
        description: one sentence.
        settings: values by the names of `Settings` fields.
        source: the seed document that specifies it.
    """

    name: str
    description: str
    source: str
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        "multi_strategy": Profile(
            name="multi_strategy",
            description="Web search, memory search and hierarchical summaries together.",
            source="seed 000",
        ),
    }
)
"""Every profile by its name."""
