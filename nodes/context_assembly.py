"""Context assembly: search results, memories and the live chain become the messages for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runtime.prompt import assembled
from ..runtime.turn import Turn
from ..state.messages import check_input
from ..state.update import Update

if TYPE_CHECKING:
    from ..state.conversation import ConversationState


async def context_assembly(state: ConversationState, turn: Turn) -> Update:
    """Assemble the context of this turn within the token budget. Of what was recalled that stays which stands in it.

    Raises:
        InputError: the newest message is empty or cannot be read.
        ModelError: the chat model, whose window is asked for, cannot be loaded, or its own token counter fails.
        SettingsError: the definitions of the tools take most of the budget.
    """
    check_input(state["messages"])
    return await assembled(state, turn)
