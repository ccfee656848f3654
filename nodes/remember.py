"""Remember: the turn goes into the archive after the reply went out; reading it for facts and embedding it begin."""

from __future__ import annotations

import logging

from langgraph.types import Overwrite

from ..compression.engine import outdated_ids
from ..runtime.chain_texts import with_chain
from ..runtime.facts import learn
from ..runtime.turn import Turn
from ..state.chain import Chain, without
from ..state.conversation import ConversationState, Update
from ..state.errors import StorageError
from ..state.messages import content_hash, is_empty
from ..state.turn_records import Upkeep
from ..state.visible import visible

logger = logging.getLogger(__name__)


async def remember(state: ConversationState, turn: Turn) -> Update:
    """Archive what is not archived yet; begin to read it for facts, and to embed what has no vector yet.

    What was not archived counts as new: a turn whose archiving failed is archived with the next. A failure is reported
    in `upkeep.error`, and the turn goes on.
    """
    try:
        before = state["messages"]
        state, update = await with_chain(state, turn)
        chain, archived = await archive_new(state, turn)
    except StorageError as error:
        logger.warning("The turn was not wholly remembered: %s", error)
        return {"upkeep": Upkeep(error=str(error))}
    learn(turn)
    turn.user.embed_later(turn.settings.timeouts.embedding)
    # What was archived adds nothing to the chain of the state.
    chain = without(chain, outdated_ids(turn.live(state).view, turn.settings))
    shown = visible(state["messages"], turn.settings.visible_messages)
    known = {str(message.id): chain["known"][str(message.id)] for message in shown}
    chain = Chain(links=chain["links"], known=known, last=chain["last"])
    update |= {"chain": chain, "upkeep": Upkeep(archived=archived, error=turn.resources.database.trouble)}
    update.pop("messages", None)
    if [message.id for message in shown] != [message.id for message in before]:
        # Overwrite, because single removals would show up in the stream of messages.
        update["messages"] = Overwrite(shown)
    return update


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
    offered = await turn.user.archive.offer_messages(turn.thread_id, said)
    if offered.changed:
        logger.info("%d messages were edited: what they were is kept.", len(offered.changed))
        edited = [message for message in said if message.id in offered.changed]
        await turn.user.branches.edit(turn.thread_id, edited)
    newest = next((str(m.id) for m in reversed(said)), before["last"])
    known = {**before["known"], **{str(message.id): content_hash(message) for message in new}}
    return Chain(links=chain["links"], known=known, last=newest), len(offered.added)
