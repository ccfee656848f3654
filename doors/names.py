"""Threads by the names that models and assistants give them: each user, and each space, has its own of a name."""

from __future__ import annotations

from typing import Final

from .memory import ConversationMemory

NOTES: Final = "notes"
"""Where a tool keeps what a model wants kept, if it names no other thread."""


async def thread_called(memory: ConversationMemory, name: str) -> str:
    """The id of the user's thread of this name or id; what was given where there is none.

    Raises:
        StorageError: the storage fails.
    """
    id_ = await memory.user.archive.thread_named(name)
    return id_ if await memory.user.archive.has_thread(id_) else name


async def begun(memory: ConversationMemory, name: str) -> str:
    """The id of the user's thread of this name or id; a new one is begun under this name where there is none.

    Raises:
        StorageError: the storage fails.
    """
    id_ = await memory.user.archive.thread_named(name)
    if id_ != name:
        await memory.user.archive.own_thread(id_, name)
    return id_
