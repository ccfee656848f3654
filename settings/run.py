"""`RunSettings`: what one run may choose; everything else is the operator's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from .context import ContextSettings
from .facts import FactSettings
from .forms import PROFILES_KEY
from .memory import MemorySettings
from .models import ModelSettings
from .profiles import PROFILES, ProfileName
from .search import SearchSettings
from .summaries import SummarySettings, ThresholdSettings
from .tools import ToolSettings
from .user import UserSettings


class RunSettings(
    ToolSettings,
    ContextSettings,
    SearchSettings,
    FactSettings,
    MemorySettings,
    SummarySettings,
    ModelSettings,
    ThresholdSettings,
    UserSettings,
):
    """What one run may choose; everything else is the operator's. A setting may be chosen by being one of these."""


def marks_of(name: str) -> dict[str, Any]:
    """What is noted about a setting beside its type: see `forms`."""
    extra = RunSettings.model_fields[name].json_schema_extra
    return dict(extra) if isinstance(extra, dict) else {}


THRESHOLDS: Final[Mapping[ProfileName, tuple[str, ...]]] = MappingProxyType(
    {
        profile: tuple(name for name in RunSettings.model_fields if profile in marks_of(name).get(PROFILES_KEY, {}))
        for profile in PROFILES
    }
)
"""The thresholds of each profile, by their names."""
