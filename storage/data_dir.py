"""Where everything is kept on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from ..settings.settings import Settings


def data_dir_of(settings: Settings) -> Path:
    """The folder of the settings; where they name none, the user's, for root one that a service user can reach."""
    if settings.data_dir is not None:
        return settings.data_dir.expanduser()
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/everthread")
    return platformdirs.user_data_path("everthread", appauthor=False)
