"""A thread that a client deletes is forgotten: what was said in it, and all that was made from it, goes with it.

The server deletes the states of a run without a thread as well, when that has ended. What was said there stays with its
user: nobody asked for it to be forgotten.
"""

from __future__ import annotations

from typing import Any

from ..runtime.forget import forget
from ..runtime.forget_wanted import whole_threads
from ..runtime.resources import Resources
from ..state.errors import ThreadOwnershipError
from ..storage.postgres.thread_lock import ThreadLocks
from ..storage.thread_copy import owner_of


async def forget_thread(resources: Resources, thread_id: str) -> None:
    """Delete what the archive has of a thread, where a request asks for it.

    Raises:
        ThreadOwnershipError: the thread is of another user than the one that the server knows.
        StorageError: the storage fails; nothing was deleted.
    """
    request = _request()
    if request is None or (owner := await owner_of(resources.database, thread_id)) is None:
        return
    identity = str(getattr(getattr(request, "user", None), "identity", "") or "")
    if identity and identity != owner:
        raise ThreadOwnershipError(f"Thread {thread_id!r} belongs to another user, who alone can delete it.")
    user = resources.of_user(owner)
    await forget(user, await whole_threads(user, thread_id), asked_by="client", locks=ThreadLocks())


def _request() -> Any:
    """What the server knows of the request that runs; None where its own work runs."""
    try:
        from langgraph_api.utils import get_auth_ctx
    except ImportError:
        return None
    return get_auth_ctx()
