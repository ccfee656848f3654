"""Branches of a thread: what has left the conversation, what is part of it again, and what was edited in its place.

A thread is one conversation. Where it goes on from an earlier point, or a message of it is removed or edited, what no
longer belongs to it is kept with the time at which it left, and is not recalled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

from langchain_core.messages import AnyMessage

from ..state.records import now
from .archive_rows import as_jsonb, earlier_id, message_rows
from .term_keys import message_keys
from .user_rows import Exchange, UserRows

EDITED: Final = "a message that it was made from was edited"
"""Why a summary is to be made again whose source was edited."""


class Branches:
    """Which messages of a thread of one user belong to the conversation as it stands.

    Args:
        rows: the user's.
    """

    def __init__(self, rows: UserRows) -> None:
        self._rows = rows

    async def settle(
        self,
        thread_id: str,
        ids: Sequence[str],
        removed: Collection[str] = (),
        *,
        outdated: Collection[str] = (),
    ) -> None:
        """Note that these messages, and what was said before the first of them, are the conversation.

        What was archived after the first of them and is not among them has left; what is among them is part of it.
        Where none of them is archived, the conversation begins again, and all has left.

        Args:
            thread_id: which.
            ids: of the newest messages, in their order.
            removed: ids of messages that were taken out of it.
            outdated: ids of messages that no summary may stand for any longer.

        Raises:
            StorageError: the database fails; nothing was noted.
        """

        async def work(rows: Exchange) -> None:
            values = {"thread_id": thread_id, "moment": now()}
            gone = await rows.fetch("branches.remove", **values, ids=list(removed)) if removed else []
            gone += await rows.fetch("branches.leave", **values, ids=list(ids))
            back = await rows.fetch("branches.come_back", thread_id=thread_id, ids=list(ids)) if ids else []
            above = [*(row["id"] for row in gone), *outdated]
            while above:
                above = [row["id"] for row in await rows.fetch("branches.summaries_leave", **values, ids=above)]
            if back:
                await _summaries_back(rows, thread_id)
            if gone or back or outdated:
                await rows.fetch("branches.read_anew")

        await self._rows.exclusive(work, fenced=thread_id)

    async def edit(self, thread_id: str, messages: Sequence[AnyMessage]) -> bool:
        """Give archived messages another content under their ids; what they were is kept as having left.

        Returns:
            Whether a summary is to be made again, because one of these is a source of it.

        Raises:
            StorageError: the database fails; nothing was changed.
        """
        new = await asyncio.to_thread(message_rows, self._rows.user_id, messages)
        earlier = {str(message.id): earlier_id(str(message.id)) for message in messages}

        async def work(rows: Exchange) -> bool:
            old = {row["id"]: row for row in await rows.fetch("branches.whole", thread_id=thread_id, ids=list(earlier))}
            for row in old.values():
                id_, whole = earlier[row["id"]], row["message"]
                renamed = as_jsonb({**whole, "data": {**whole["data"], "id": id_}})
                values = {"id": row["id"], "earlier_id": id_, "message": renamed, "moment": now()}
                await rows.fetch("branches.keep_earlier", thread_id=thread_id, **values)
                for statement in ("branches.facts_stay", "branches.pins_stay"):
                    await rows.fetch(statement, thread_id=thread_id, id=row["id"], earlier_id=id_)
            for row in new:  # it keeps the time at which it was said
                if row["id"] in old:
                    row["term_keys"] = message_keys(rows.user_id, row, old[row["id"]]["created_at"])
            await rows.fetch("branches.edit", thread_id=thread_id, rows=as_jsonb(new))
            stale = await rows.fetch("branches.stale", thread_id=thread_id, ids=list(earlier), reason=EDITED)
            await rows.fetch("branches.read_anew")
            return bool(stale)

        return await self._rows.exclusive(work, fenced=thread_id)


async def _summaries_back(rows: Exchange, thread_id: str) -> None:
    """Bring back the summaries whose sources are all part of the conversation, the lower ones first."""
    left = {row["id"] for row in await rows.fetch("branches.left_messages", thread_id=thread_id)}
    summaries = {
        row["id"]: row["source_ids"] for row in await rows.fetch("branches.left_summaries", thread_id=thread_id)
    }
    left |= summaries.keys()
    back: list[str] = []
    for id_, sources in summaries.items():
        if left.isdisjoint(sources):
            left.discard(id_)
            back.append(id_)
    if back:
        await rows.fetch("branches.summaries_come_back", thread_id=thread_id, ids=back)
