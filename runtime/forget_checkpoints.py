"""Checkpoints of a thread without what is forgotten: the newest are rewritten, the older ones go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ..storage.damaged_checkpoints import DAMAGED
from ..storage.encryption import Cipher
from ..storage.open import checkpointer_of
from ..storage.sealed_checkpoints import open_texts, seal_inline, sealed_serializer
from ..storage.storage import Storage
from ..storage.user_keys import UserKeys
from ..storage.user_rows import Exchange
from .forget_traces import Traces

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

KEPT: Final = 16
"""Checkpoints of a thread that are rewritten, the newest; `sparse_checkpoints` has an older question among the newest
ten. How long forgetting takes does not grow with the thread."""

_KEEP: Final = {
    "checkpoint": "deletion.keep_checkpoint",
    "blob": "deletion.keep_blob",
    "write": "deletion.keep_write",
}
_JSON: Final = "jsonb"

OF_THREAD: Final = ("deletion.checkpoint_writes", "deletion.checkpoint_blobs", "deletion.checkpoints")
"""What deletes all checkpoints of threads."""


class _Values:
    """What a checkpoint holds as it is stored: sealed under the user's key, where the storage is encrypted."""

    def __init__(self, keys: UserKeys, cipher: Cipher | None, serde: SerializerProtocol) -> None:
        self._keys = keys
        self._cipher = cipher
        self._serde = sealed_serializer(keys, cipher, serde)

    def loaded(self, row: dict[str, Any]) -> Any:
        value = bytes(row["value"])
        if row["type"] != _JSON:
            return self._serde.loads_typed((row["type"], value))
        found = json.loads(value)
        if self._cipher is not None:
            open_texts(self._keys, found["channel_values"])
        return found

    def stored(self, value: Any, type_: str) -> tuple[str, bytes]:
        if type_ != _JSON:
            return self._serde.dumps_typed(value)
        sealed = value if self._cipher is None else seal_inline(self._cipher, value)
        return _JSON, json.dumps(sealed).encode()


async def scrub_checkpoints(rows: Exchange, thread_id: str, traces: Traces, storage: Storage) -> None:
    """Rewrite what the newest checkpoints of a thread hold, and delete the older ones."""
    for query in ("deletion.old_checkpoints", "deletion.old_writes", "deletion.old_blobs"):
        await rows.fetch(query, thread_id=thread_id, kept=KEPT)
    states = await rows.fetch("deletion.states", thread_id=thread_id)
    if not states:
        return
    values = _Values(storage.keys, rows.cipher, checkpointer_of(storage).serde)
    try:
        changed = await asyncio.to_thread(_rewritten, states, thread_id, traces, values)
    except DAMAGED:  # nobody can tell what it holds; the thread goes on from its archive
        for query in OF_THREAD:
            await rows.fetch(query, threads=[thread_id])
        return
    for row in changed:
        await rows.fetch(_KEEP[row["kind"]], thread_id=thread_id, **row)


def _rewritten(
    states: Sequence[dict[str, Any]], thread_id: str, traces: Traces, values: _Values
) -> list[dict[str, Any]]:
    """The values that are another one without what is forgotten."""
    changed: list[dict[str, Any]] = []
    for row in states:
        before = values.loaded(row)
        after = traces.removed_from(before, thread_id)
        if after is not before:
            kind, value = values.stored(after, row["type"])
            changed.append({**row, "type": kind, "value": value})
    return changed
