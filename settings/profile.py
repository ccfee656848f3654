"""`ProfileSettings`: whose memory it is, and which profile fills the rest."""

from __future__ import annotations

from pydantic import BaseModel, Field

from ..state.threads import DEFAULT_USER
from .profiles import ProfileName


class ProfileSettings(BaseModel):
    """Whose memory it is, and which profile fills the rest."""

    user_id: str = Field(
        DEFAULT_USER,
        min_length=1,
        max_length=255,
        description="Whose memory this is. Under a server with authentication, the authenticated user wins.",
    )
    profile: ProfileName = Field("multi_strategy", description="Which set of settings fills what is not set otherwise.")
