"""Remember: the turn goes into the archive after the reply went out; reading it for facts and embedding it begin."""

from __future__ import annotations

import logging

from langgraph.types import Overwrite

from ..compression.engine import outdated_ids
from ..runtime.archiving import archive_new
from ..runtime.chain_texts import with_chain
from ..runtime.chat_forgetting import forget_asked, set_aside
from ..runtime.facts import learn
from ..runtime.turn import Turn
from ..state.chain import Chain, without
from ..state.conversation import ConversationState, Update
from ..state.errors import StorageError
from ..state.records import Recall
from ..state.turn_records import AfterReply
from ..state.visible import visible

logger = logging.getLogger(__name__)


async def remember(state: ConversationState, turn: Turn) -> Update:
    """Archive what is not archived yet; begin to read it for facts, and to embed what has no vector yet.

    What was not archived counts as new: a turn whose archiving failed is archived with the next. A failure is reported
    in `after_reply.error`, and the turn goes on.
    """
    try:
        before = state["messages"]
        state, update = await with_chain(state, turn)
        if (sheet := state.get("facts")) is not None:
            forgotten = sheet.forgotten
        else:  # the turn was resumed here, or what was said came through another door
            state, gone, forgotten = await forget_asked(state, turn)
            update |= gone
        is_cut = False
        if forgotten is not None and forgotten.is_set_aside:
            state, is_cut = set_aside(state, turn)
        chain, archived = await archive_new(state, turn)
    except StorageError as error:
        logger.warning("The turn was not wholly remembered: %s", error)
        return {
            "after_reply": AfterReply(error=f"What was said is not kept yet, and will be with a later turn: {error}")
        }
    learn(turn, state.get("recall", Recall()))
    turn.user.embed_later(turn.settings.timeouts.embedding)
    # What was archived adds nothing to the chain of the state.
    chain = without(chain, outdated_ids(turn.live(state).view, turn.settings))
    shown = visible(state["messages"], turn.settings.visible_messages)
    known = {str(message.id): chain["known"][str(message.id)] for message in shown}
    chain = Chain(links=chain["links"], known=known, last=chain["last"])
    update |= {"chain": chain, "after_reply": AfterReply(archived=archived, error=turn.resources.database.write_error)}
    update.pop("messages", None)
    if is_cut or [message.id for message in shown] != [message.id for message in before]:
        # Overwrite, because single removals would show up in the stream of messages.
        update["messages"] = Overwrite(shown)
    return update
