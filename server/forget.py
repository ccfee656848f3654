"""A thread that a client deletes is forgotten: what was said in it, and all that was made from it, goes with it.

The server deletes the states of a run without a thread as well, when that has ended. What was said there stays with its
user: nobody asked for it to be forgotten.
"""

from __future__ import annotations

from ..runtime.forget import forget
from ..runtime.forget_wanted import whole_threads
from ..runtime.resources import Resources
from ..storage.postgres.thread_lock import ThreadLocks
from ..storage.server_user import server_request
from ..storage.thread_copy import owner_of


async def forget_thread(resources: Resources, thread_id: str) -> None:
    """Delete what the archive has of a thread, where a request asks for it; whose it is the checkpointer has asked.

    Raises:
        StorageError: the storage fails; nothing was deleted.
    """
    if server_request() is None or (owner := await owner_of(resources.database, thread_id)) is None:
        return
    user = resources.of_user(owner)
    await forget(user, await whole_threads(user, thread_id), asked_by="client", locks=ThreadLocks())
