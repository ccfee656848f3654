"""Names of threads."""

from __future__ import annotations

import uuid

from .records import EVERTHREAD_NAMESPACE

DEFAULT_USER = "default"
"""Who owns what runs without a `user_id`."""


def thread_id(name: str, user_id: str = DEFAULT_USER) -> str:
    """The thread id for a name: a UUID, as the LangGraph server wants it, the same everywhere for the same user.

    Args:
        name: any text; one that is a UUID already stays as it is.
        user_id: whose thread; two users may give the same name.
    """
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return str(uuid.uuid5(EVERTHREAD_NAMESPACE, f"thread\x1f{user_id}\x1f{name}"))
