"""`UserSettings`: whose memory it is, and which profile fills the rest."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..state.threads import DEFAULT_USER
from .forms import Group
from .profiles import PROFILES, ProfileName


class UserSettings(Group):
    """Whose memory it is, and which profile fills the rest."""

    group: ClassVar[str] = "User and profile"

    user_id: str = Field(
        DEFAULT_USER,
        title="User",
        min_length=1,
        max_length=255,
        description="Whose memory this is. Under a server with authentication, the authenticated user wins.",
    )
    profile: ProfileName = Field(
        "multi_strategy",
        title="Profile",
        description="Which set of settings fills what is not set otherwise. "
        + " ".join(f"{profile.name}: {profile.description}" for profile in PROFILES.values()),
    )
