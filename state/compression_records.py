"""What flows about compression beside the summaries: `ThreadCompression`, which the commands in the chat set."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .records import Record


class ThreadCompression(Record):
    """What the user has set for one thread by commands (seed `003`, "User Commands")."""

    enabled: bool = Field(True, description="Whether messages of this thread become summaries.")
    threshold_name: str | None = Field(None, description="The setting that `threshold` stands for.")
    threshold: int | None = Field(None, ge=1, le=500, description="After how many messages, where the user said so.")
    pending: Literal["storage", "threshold"] | None = Field(None, description="What `/summary` has asked for.")
    asked_id: str | None = Field(None, description="The message that asked; only the next one can answer it.")
