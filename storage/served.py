"""What a LangGraph server keeps everything in, its own threads too: `langgraph.json` names `checkpointer`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import lru_cache

from ..settings.settings import Settings
from .loop_checkpointer import LoopCheckpointer
from .open import checkpointer_of, storage_of
from .storage import Storage


@lru_cache(maxsize=1)
def shared_database() -> Storage:
    """The storage that the served graph and its checkpointer share, from the environment's settings."""
    return storage_of(Settings())


forgetting: list[Callable[[str], Awaitable[None]]] = []
"""What the server does before the checkpoints of a thread are deleted: see `everthread.server.app`."""


async def _before_deletion(thread_id: str) -> None:
    for forget in forgetting:
        await forget(thread_id)


@asynccontextmanager
async def checkpointer() -> AsyncIterator[LoopCheckpointer]:
    """The checkpointer that `langgraph.json` names: that of the environment's settings.

    Raises:
        StorageError: the storage cannot be started or reached.
    """
    # In threads, as they import what keeps it.
    storage = await asyncio.to_thread(shared_database)
    await storage.open()
    saver = await asyncio.to_thread(checkpointer_of, storage)
    saver.before_deletion = _before_deletion
    try:
        yield saver
    finally:
        await saver.closed()
        await storage.close()
