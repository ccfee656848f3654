"""A turn that is resumed finds nothing in its state of what was searched and remembered for it: it is made again."""

from __future__ import annotations

from typing import cast

from ..state.conversation import ConversationState, Update
from .keyword_check import keyword_check
from .memory_retrieval import memory_retrieval
from .pairing import pairing
from .slm_router import slm_router
from .turn import Turn
from .web_search import web_search


async def prepared(state: ConversationState, turn: Turn) -> tuple[ConversationState, Update]:
    """The state with what was remembered and searched for this turn, and what of that it lacked.

    Raises:
        ThreadOwnershipError: the thread belongs to another user.
    """
    if state.get("recall") is not None:
        return state, {}
    update: Update = {}
    for node in (memory_retrieval, pairing, keyword_check):
        update |= await node(cast("ConversationState", {**state, **update}), turn)
    if update["search"].needed is None:
        update |= await slm_router(cast("ConversationState", {**state, **update}), turn)
    if update["search"].needed:
        update |= await web_search(cast("ConversationState", {**state, **update}), turn)
    return cast("ConversationState", {**state, **update}), update
