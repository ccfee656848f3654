"""A thread is copied: what its owner said in it stands in the archive under the new id as well.

Facts and pins are the user's, not the thread's, and are there already.
"""

from __future__ import annotations

from typing import Final

from .entering import across_users
from .storage import Storage
from .user_rows import UserRows

_COPY: Final = (
    "thread_copy.threads",
    "thread_copy.messages",
    "thread_copy.summaries",
    "thread_copy.summary_versions",
    "thread_copy.vectors",
    "thread_copy.turn_reports",
    "thread_copy.forgotten_numbers",
)


async def owner_of(storage: Storage, thread_id: str) -> str | None:
    """Whose thread it is; None where nobody said anything in it.

    Raises:
        StorageError: the storage fails.
    """
    rows = await across_users(storage, "thread_copy.owner", thread_id=thread_id)
    return str(rows[0]["user_id"]) if rows else None


async def copy_archive(storage: Storage, source: str, target: str) -> None:
    """Copy what the archive has of a thread to another one of the same user. Done twice, it changes nothing.

    Raises:
        StorageError: the storage fails; nothing was copied.
    """
    if (user_id := await owner_of(storage, source)) is None or source == target:
        return
    values = {"source": source, "target": target}
    await UserRows(storage, user_id).transaction(*((query, values) for query in _COPY))
