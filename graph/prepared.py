"""A turn that is resumed finds nothing in its state of what was searched and remembered for it: it is made again."""

from __future__ import annotations

from ..nodes.keyword_check import keyword_check
from ..nodes.llm_call import is_nothing_to_ask
from ..nodes.llm_call import llm_call as answer
from ..nodes.memory_retrieval import memory_retrieval
from ..nodes.pairing import pairing
from ..nodes.slm_router import slm_router
from ..nodes.web_search import web_search
from ..runtime.turn import Turn
from ..state.conversation import ConversationState
from ..state.update import Update, Whole, with_update


async def llm_call(state: ConversationState, turn: Turn) -> Update:
    """The node `llm_call`, with what it needs of the nodes before it.

    Raises:
        EverthreadError: what `nodes.llm_call.llm_call` raises, or `ThreadOwnershipError`.
    """
    if state.get("recall") is not None or is_nothing_to_ask(state, turn):
        return await answer(state, turn)
    state, update = await _prepared(state, turn)
    answered = await answer(state, turn)
    if "messages" in update:
        answered["messages"] = Whole([*state["messages"], *answered["messages"]])
    return {**update, **answered}


async def _prepared(state: ConversationState, turn: Turn) -> tuple[ConversationState, Update]:
    """The state with what was remembered and searched for this turn, and what of that it lacked.

    Where the state had no chain, that may be all of its messages, as a `Whole`.

    Raises:
        ThreadOwnershipError: the thread belongs to another user.
    """
    update: Update = {}
    for node in (memory_retrieval, pairing, keyword_check):
        update |= await node(with_update(state, update), turn)
    if update["search"].needed is None:
        update |= await slm_router(with_update(state, update), turn)
    if update["search"].needed:
        update |= await web_search(with_update(state, update), turn)
    return with_update(state, update), update
