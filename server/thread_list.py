"""The threads of the storage in the server's own list, so that clients find those of the terminal, and after a restart.

The LangGraph server lists what was created through it; `langgraph dev` keeps that list in a file of the working folder.
"""

from __future__ import annotations

import logging
import uuid
from typing import Final

from langgraph_sdk import get_client

from ..storage.archive import Archive
from ..storage.postgres.checkpointer import shared_database
from ..storage.user_rows import UserRows

logger = logging.getLogger(__name__)

_GRAPH_ID: Final = "everthread"
"""The name of the graph in `langgraph.json`."""

MOST: Final = 200
"""Threads that are listed, at most, those of which something was said last."""


async def list_threads() -> int:
    """Put the threads of the user of the settings into the server's list; returns how many there are.

    Only those whose id is a UUID, as the server wants it: `everthread.thread_id` gives one for a name.

    Raises:
        StorageError: the storage cannot be reached.
    """
    storage = shared_database()
    rows = await Archive(UserRows(storage, storage.settings.user_id)).threads()
    known = [row for row in rows if _is_uuid(row["thread_id"])][:MOST]
    client = get_client()
    for row in reversed(known):  # the list is sorted by when a thread came into it
        metadata = {"title": row["name"]} if row["name"] else {}
        await client.threads.create(
            thread_id=row["thread_id"], graph_id=_GRAPH_ID, metadata=metadata, if_exists="do_nothing"
        )
    logger.info("%d threads of the storage are in the server's list.", len(known))
    return len(known)


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
