"""A turn that is resumed finds nothing in its state of what was searched and remembered for it: it is made again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langgraph.types import Overwrite

from ..state.conversation import ConversationState, Update
from .keyword_check import keyword_check
from .memory_retrieval import memory_retrieval
from .pairing import pairing
from .slm_router import slm_router
from .turn import Turn
from .web_search import web_search


async def prepared(state: ConversationState, turn: Turn) -> tuple[ConversationState, Update]:
    """The state with what was remembered and searched for this turn, and what of that it lacked.

    Where the state had no chain, that may be all of its messages, as an `Overwrite`.

    Raises:
        ThreadOwnershipError: the thread belongs to another user.
    """
    if state.get("recall") is not None:
        return state, {}
    update: Update = {}
    for node in (memory_retrieval, pairing, keyword_check):
        update |= await node(_with(state, update), turn)
    if update["search"].needed is None:
        update |= await slm_router(_with(state, update), turn)
    if update["search"].needed:
        update |= await web_search(_with(state, update), turn)
    return _with(state, update), update


def _with(state: ConversationState, update: Mapping[str, Any]) -> ConversationState:
    """The state with the values of an update."""
    values = {name: value.value if isinstance(value, Overwrite) else value for name, value in update.items()}
    return cast("ConversationState", {**state, **values})
