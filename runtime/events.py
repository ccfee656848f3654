"""What a client may show while a turn runs: an event of stream mode `custom` for each thing that begins or ends.

Each is a dictionary: `{"everthread": NAME, ...}`. The README has the table of names and what comes with each.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

EventName = Literal["searching", "searched", "remembering", "remembered", "summarizing", "forgotten", "away"]


def tell(name: EventName, **values: Any) -> None:
    """Send an event to those who stream mode `custom`; to nobody where a node runs outside a graph."""
    if (langgraph := sys.modules.get("langgraph.config")) is None:  # no graph runs where nobody has loaded it
        return
    try:
        writer = langgraph.get_stream_writer()
    except (RuntimeError, KeyError):
        return
    writer({"everthread": name, **values})
