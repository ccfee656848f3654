"""The node `pairing`: a found message brings its counterpart, a summary some of its sources; see `runtime.memories`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..runtime.memories import memories_of, memories_of_spaces
from ..runtime.said import within_reach
from ..runtime.turn import Turn
from ..state.errors import StorageError
from ..state.messages import newest_question
from ..state.records import Recall
from ..state.update import Update

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)


async def pairing(state: ConversationState, turn: Turn) -> Update:
    """Make memories of the hits, the most similar first, and of what team spaces hold, where these are asked, too.

    There are as many as are wanted beside those that stand in the chain: which of them are shown, assembly decides.
    """
    recall, question = state.get("recall", Recall()), newest_question(state["messages"])
    chain = {(turn.thread_id, id_) for id_ in within_reach(state, turn)} if recall.hits else ()
    try:
        memories = await memories_of(recall, question, turn, turn.user, chain)
        if turn.settings.memory_scope == "spaces":
            memories += await memories_of_spaces(question, turn)
            memories.sort(key=lambda memory: memory.score, reverse=True)
    except StorageError as error:
        logger.warning("Memories were not paired: %s", error)
        return {"recall": recall.model_copy(update={"error": str(error)})}
    return {"recall": recall.model_copy(update={"memories": tuple(memories)})} if memories else {}
