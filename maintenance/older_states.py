"""What older states of a thread hold: messages that the archive has lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from datetime import datetime
from typing import Final, NamedTuple

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from ..state.messages import is_empty, unmarked
from .thread_state import ThreadState

_MOST: Final = 5_000
"""Older states that are looked through."""

_PAGE: Final = 100
"""Older states that are in memory at once."""


class Older(NamedTuple):
    """A message of an older state: with its neighbours there, and when that state was written."""

    message: AnyMessage
    before: tuple[str, ...]
    after: tuple[str, ...]
    seen_at: datetime | None


async def lineage(state: ThreadState) -> AsyncIterator[StateSnapshot]:
    """The states that led to the newest one, the newest first; not those of other branches of the thread's history."""
    wanted = _id_of(state.snapshot.config)
    before: RunnableConfig | None = None
    for _ in range(_MOST // _PAGE):
        history = state.conversation.aget_state_history(state.config, before=before, limit=_PAGE)
        page = [snapshot async for snapshot in history]
        for snapshot in page:
            if _id_of(snapshot.config) == wanted:
                yield snapshot
                if snapshot.parent_config is None:
                    return
                wanted = _id_of(snapshot.parent_config)
        if len(page) < _PAGE:
            return
        before = page[-1].config


async def search(
    state: ThreadState, wanted: Collection[str], archived: Collection[str], *, everything: bool
) -> dict[str, Older]:
    """Messages of older states, by id.

    Args:
        state: of the thread.
        wanted: ids that are looked for; the search ends when all were found.
        archived: ids that the archive has.
        everything: whether everything is wanted that was said and is not in the archive.
    """
    found: dict[str, Older] = {}
    async for snapshot in lineage(state):
        messages: list[AnyMessage] = snapshot.values.get("messages", [])
        ids = [str(message.id) for message in messages]
        seen_at = datetime.fromisoformat(snapshot.created_at) if snapshot.created_at else None
        for place, message in enumerate(messages):
            id_ = ids[place]
            lacking = everything and id_ not in archived and not is_empty(message)
            if (id_ in wanted or lacking) and id_ not in found:
                found[id_] = Older(unmarked(message), tuple(ids[:place]), tuple(ids[place + 1 :]), seen_at)
        if not everything and all(id_ in found for id_ in wanted):
            break
    return found


def _id_of(config: object) -> object:
    return config["configurable"].get("checkpoint_id") if isinstance(config, dict) else None
