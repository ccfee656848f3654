"""`follow`: checkpoints come behind those that were there, whatever the clock of a machine says.

LangGraph numbers checkpoints by the time of the process that makes them (UUID version 6), and the newest of a thread is
that with the highest number. Where the clock of the next process is behind, what it says would stand before what was
said, and be lost from the conversation. So who has read a checkpoint numbers its own behind it, as Lamport's clocks do.
"""

from __future__ import annotations

import time
import uuid
from typing import Final

from langgraph.checkpoint.base import id as numbers

_BEFORE_1970: Final = 0x01B21DD213814000
"""Of the time in a UUID, in steps of 100 ns since 1582 (RFC 9562, 5.1)."""


def follow(checkpoint_id: str) -> None:
    """Number what this process makes from now on behind a checkpoint, where its own clock would not."""
    try:
        number = uuid.UUID(checkpoint_id)
    except ValueError:  # of another make
        return
    made_at = number.int >> 80 << 12 | number.int >> 64 & 0xFFF
    if number.version == 6 and made_at > time.time_ns() // 100 + _BEFORE_1970:
        numbers._last_v6_timestamp = max(made_at, numbers._last_v6_timestamp or 0)  # type: ignore[assignment]  # begins as None
