"""The node `slm_router`: where words do not decide, a small language model says whether to search the web."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runtime.local_router import judge_locally
from ..runtime.router_call import decided
from ..runtime.turn import Turn
from ..state.update import Update

if TYPE_CHECKING:
    from ..state.conversation import ConversationState


async def slm_router(state: ConversationState, turn: Turn) -> Update:
    """Let the small model, or without one the local router, decide whether to search the web. Never raises."""
    if turn.settings.slm_model is None:
        return {"search": await judge_locally(state, turn.settings, turn.resources.embedder)}
    return {"search": await decided(state, turn)}
