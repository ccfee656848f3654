"""The keyword arm's index: the terms of each message, as numbers made of user and term, in the rows of the archive."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from ..storage.term_keys import message_keys
from ..storage.user_rows import UserRows

_BATCH: Final = 500


async def index_pending(rows: UserRows) -> int:
    """Find the terms of a user's messages that have none yet (imported ones, say); returns how many were done.

    Raises:
        StorageError: the database fails.
    """
    pending = await rows.fetch("keywords.without_terms", limit=_BATCH)
    if pending:
        done = await asyncio.to_thread(lambda: [_with_keys(rows.user_id, row) for row in pending])
        await rows.fetch("keywords.set_terms", rows=Jsonb(done))
    return len(pending)


def _with_keys(user_id: str, row: DictRow) -> dict[str, Any]:
    keys = message_keys(user_id, row["text"], row["created_at"])
    return {"thread_id": row["thread_id"], "id": row["id"], "keys": keys}
