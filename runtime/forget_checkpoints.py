"""Checkpoints of a thread without what is forgotten: the newest are rewritten, the older ones go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

from langgraph.checkpoint.serde.base import SerializerProtocol

from ..storage.user_rows import Exchange
from .forget_traces import Traces

KEPT: Final = 16
"""Checkpoints of a thread that are rewritten, the newest; `sparse_checkpoints` has an older question among the newest
ten. How long forgetting takes does not grow with the thread."""

_KEEP: Final = {
    "checkpoint": "deletion.keep_checkpoint",
    "blob": "deletion.keep_blob",
    "write": "deletion.keep_write",
}
_JSON: Final = "jsonb"


async def scrub_checkpoints(rows: Exchange, thread_id: str, traces: Traces, serde: SerializerProtocol) -> None:
    """Rewrite what the newest checkpoints of a thread hold, and delete the older ones."""
    for query in ("deletion.old_checkpoints", "deletion.old_writes", "deletion.old_blobs"):
        await rows.fetch(query, thread_id=thread_id, kept=KEPT)
    states = await rows.fetch("deletion.states", thread_id=thread_id)
    for row in await asyncio.to_thread(_rewritten, states, thread_id, traces, serde):
        await rows.fetch(_KEEP[row["kind"]], thread_id=thread_id, **row)


def _rewritten(
    states: Sequence[dict[str, Any]], thread_id: str, traces: Traces, serde: SerializerProtocol
) -> list[dict[str, Any]]:
    """The values that are another one without what is forgotten."""
    changed: list[dict[str, Any]] = []
    for row in states:
        before = _loaded(row, serde)
        after = traces.removed_from(before, thread_id)
        if after is not before:
            kind, value = (_JSON, json.dumps(after).encode()) if row["type"] == _JSON else serde.dumps_typed(after)
            changed.append({**row, "type": kind, "value": value})
    return changed


def _loaded(row: dict[str, Any], serde: SerializerProtocol) -> Any:
    value = bytes(row["value"])
    return json.loads(value) if row["type"] == _JSON else serde.loads_typed((row["type"], value))
