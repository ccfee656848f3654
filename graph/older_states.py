"""What older states of a thread hold: messages that the archive has lost, and to which branch a message belongs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from datetime import datetime
from typing import Final, NamedTuple

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from ..state.lighten import is_lightened
from ..state.messages import is_said, is_summary, unmarked
from .thread_state import ThreadState

_MOST: Final = 5_000
"""Older states that are looked through."""

_PAGE: Final = 100
"""Older states that are in memory at once."""


class Older(NamedTuple):
    """A message or summary of an older state: with its neighbours there, and when that state was written."""

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
    """Messages and summaries of older states, by id; of each the fullest form.

    Args:
        state: of the thread.
        wanted: ids that are looked for; the search ends when all were found whole.
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
            lacking = everything and id_ not in archived and is_said(message)
            if not (id_ in wanted or lacking) or (is_lightened(message) and id_ in found):
                continue
            bare = message if is_summary(message) else unmarked(message)
            found[id_] = Older(bare, tuple(ids[:place]), tuple(ids[place + 1 :]), seen_at)
        if not everything and all(id_ in found and not is_lightened(found[id_].message) for id_ in wanted):
            break
    return found


async def of_other_branches(state: ThreadState, ids: Collection[str]) -> set[str]:
    """Those of the ids that no state had which led to the newest one.

    Where older states were deleted, by `everthread prune`, that cannot be told, and none is taken for one of them.
    """
    left = set(ids)
    oldest: StateSnapshot | None = None
    async for snapshot in lineage(state) if left else _nothing():
        left -= {str(message.id) for message in snapshot.values.get("messages", [])}
        oldest = snapshot
        if not left:
            break
    return left if oldest is not None and oldest.parent_config is None else set()


async def _nothing() -> AsyncIterator[StateSnapshot]:
    return
    yield


def _id_of(config: object) -> object:
    return config["configurable"].get("checkpoint_id") if isinstance(config, dict) else None
