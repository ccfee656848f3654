"""What a client may show while a turn runs: an event of stream mode `custom` for each thing that begins or ends.

Each is a dictionary: `{"everthread": NAME, ...}`. The README has the table of names and what comes with each.
"""

from __future__ import annotations

from typing import Any, Literal

from langgraph.config import get_stream_writer

EventName = Literal["searching", "searched", "remembering", "remembered", "summarizing", "forgotten", "away"]


def tell(name: EventName, **values: Any) -> None:
    """Send an event to those who stream mode `custom`; to nobody where a node runs outside a graph."""
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):
        return
    writer({"everthread": name, **values})
