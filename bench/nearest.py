"""What a vector index finds by itself, for tests and measurements: the product ranks it together with words."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import numpy as np

from everthread.memory.vectors import VectorIndex


class NearSource(NamedTuple):
    """A message or summary with its cosine in [-1, 1]."""

    source_type: str
    thread_id: str
    source_id: str
    cosine: float


async def nearest(
    index: VectorIndex, user_id: str, question: str, *, limit: int, thread_only: str | None = None, timeout: float = 60
) -> list[NearSource]:
    """The user's messages and summaries nearest to the question, the best first: as `lookup` finds them."""
    found = await index.lookup(user_id, question, limit=limit, thread_only=thread_only, timeout=timeout)
    memory = (await index.memories.of(user_id)).memory

    def near() -> list[NearSource]:
        with memory.lock:
            messages, summaries = found(memory, memory.view(thread_only))
            return [
                *(
                    NearSource("message", *memory.ids[n], float(messages[n]))
                    for n in np.flatnonzero(~np.isnan(messages))
                ),
                *(NearSource("summary", source.thread_id, source.id, cosine) for source, cosine in summaries),
            ]

    return sorted(await asyncio.to_thread(near), key=lambda source: (-source.cosine, source.source_id))
