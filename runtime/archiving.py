"""What was said goes into the archive."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..compression.importance import score_importance
from ..state.chain import Chain
from ..state.messages import content_hash, is_empty
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)


async def archive_new(state: ConversationState, turn: Turn) -> tuple[Chain, int]:
    """Archive the messages that are new or edited; returns the chain with them, and how many were new.

    Args:
        state: with its chain.
        turn: whose thread it is.

    Raises:
        StorageError: the archive cannot be written.
    """
    before, chain, messages = state["chain"], turn.live(state).chain, state["messages"]
    new = [message for message in messages if before["known"].get(str(message.id)) != content_hash(message)]
    said = [message for message in new if not is_empty(message)]
    importance = {str(message.id): score_importance(message) for message in said}
    offered = await turn.user.archive.offer_messages(turn.thread_id, said, importance=importance)
    if offered.changed:
        logger.info("%d messages were edited: what they were is kept.", len(offered.changed))
        edited = [message for message in said if message.id in offered.changed]
        await turn.user.branches.edit(turn.thread_id, edited)
    newest = next((str(m.id) for m in reversed(said)), before["last"])
    known = {**before["known"], **{str(message.id): content_hash(message) for message in new}}
    return {**chain, "known": known, "last": newest}, len(offered.added)
