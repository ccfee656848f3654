"""Remember: the turn goes into the archive after the reply went out; reading it for facts and embedding it begin."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite

from ..compression.engine import outdated_ids
from ..state.chain import Chain, removed_ids, without
from ..state.conversation import ConversationState, Update
from ..state.errors import StorageError
from ..state.live_chain import chain_in, view_in
from ..state.messages import content_hash, is_empty
from ..state.turn_records import Upkeep
from ..state.visible import visible
from .chain_texts import with_chain
from .facts import learn
from .turn import Turn

logger = logging.getLogger(__name__)


async def remember(state: ConversationState, turn: Turn) -> Update:
    """Archive what is not archived yet; begin to read it for facts, and to embed what has no vector yet.

    What was not archived counts as new, so a turn whose archiving failed is archived with the next. A failure is told
    in `upkeep.error`, and the turn goes on.
    """
    try:
        had_chain = state.get("chain") is not None
        state, update = await with_chain(state, turn)
        chain, archived = await archive_new(state, turn)
        messages = state["messages"] if had_chain else await _with_earlier(state["messages"], turn)
    except StorageError as error:
        logger.warning("The turn was not wholly remembered: %s", error)
        return {"upkeep": Upkeep(error=str(error))}
    learn(turn)
    turn.resources.embed_later(turn.user_id, turn.settings.embedding_timeout)
    chain = without(chain, outdated_ids(view_in({**state, "chain": chain}), turn.settings))
    shown = visible(messages, turn.settings)
    chain["known"] = {str(message.id): content_hash(message) for message in shown}
    update |= {"chain": chain, "upkeep": Upkeep(archived=archived, error=turn.resources.database.trouble)}
    if [m.id for m in shown] != [m.id for m in state["messages"]]:
        # Overwrite, because single removals would show up in the stream of messages.
        update["messages"] = Overwrite(shown)
    return update


async def archive_new(state: ConversationState, turn: Turn, *, but: Sequence[AnyMessage] = ()) -> tuple[Chain, int]:
    """Archive the messages that are new or edited; returns the chain with them, and how many were new.

    Args:
        state: with its chain.
        turn: whose thread it is.
        but: messages that are not to be archived.

    Raises:
        StorageError: the archive cannot be written.
    """
    archive, branches, where = turn.resources.archive, turn.resources.branches, (turn.user_id, turn.thread_id)
    before, chain, messages = state["chain"], chain_in(state), state["messages"]
    left_out = {message.id for message in but}
    new = [m for m in messages if before["known"].get(str(m.id)) != content_hash(m) and m.id not in left_out]
    said = [message for message in new if not is_empty(message)]
    last = await archive.last_id(*where)
    offered = await archive.offer_messages(*where, said)
    if offered.changed:
        logger.info("%d messages were edited: what they were is kept.", len(offered.changed))
        await branches.edit(*where, [message for message in said if message.id in offered.changed])
    removed = removed_ids(before, messages)
    archived_ids = [str(m.id) for m in messages if not is_empty(m)]
    if removed or last != before["last"]:
        await branches.settle(*where, archived_ids, removed)
    newest = next((str(m.id) for m in reversed(said)), before["last"])
    known = {**chain["known"], **{str(message.id): content_hash(message) for message in new}}
    return Chain(links=chain["links"], known=known, last=newest), len(offered.added)


async def _with_earlier(messages: list[AnyMessage], turn: Turn) -> list[AnyMessage]:
    """The messages with those that the archive has of the time before, where a state began with less than that."""
    where, limit = (turn.user_id, turn.thread_id), turn.settings.visible_messages
    before = str(messages[0].id) if messages else None
    known = await turn.resources.archive.known_ids(*where, [before] if before else [])
    page = await turn.resources.archive.page(*where, before=before if known else None, limit=limit)
    there = {message.id for message in messages}
    return [*(archived.message for archived in page if archived.id not in there), *messages]  # type: ignore[list-item]  # what LangChain wrote
