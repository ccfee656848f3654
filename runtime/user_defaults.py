"""What a user has chosen by commands holds in their new threads (seed `003`, "Cross-Restart State")."""

from __future__ import annotations

import logging
from typing import Any

from pydantic import ValidationError

from ..compression.thread import as_channel
from ..state.compression_records import ThreadCompression
from ..state.errors import StorageError
from .turn import Turn

logger = logging.getLogger(__name__)


async def default_channel(turn: Turn) -> dict[str, Any]:
    """What the channel `compression` of a new thread of the user begins with; empty where nothing was chosen.

    Raises:
        StorageError: the storage fails.
    """
    rows = await turn.user.rows.fetch("users.defaults")
    try:
        kept = {name: value for name, value in dict(rows[0]).items() if value is not None} if rows else {}
        return as_channel(ThreadCompression.model_validate({**kept, "enabled": bool(kept.get("enabled", True))}))
    except ValidationError as error:
        logger.warning("The defaults of a user cannot be read: %d values are damaged.", error.error_count())
        return {}


async def keep_as_default(control: ThreadCompression, turn: Turn) -> bool:
    """Keep what was chosen for new threads; returns whether it could be kept."""
    chosen = {"enabled": control.enabled, "threshold_name": control.threshold_name, "threshold": control.threshold}
    try:
        await turn.user.rows.fetch("users.set_defaults", **chosen)
    except StorageError as error:
        logger.warning("What was chosen is not kept for new threads: %s", error)
        return False
    return True
