"""Remember: the turn goes into the archive after the reply went out; reading it for facts and embedding it begin."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Sequence

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite

from ..compression.engine import outdated_ids
from ..state.conversation import ConversationState, Update
from ..state.errors import StorageError
from ..state.lighten import is_lightened, lighten
from ..state.messages import is_said
from ..state.records import EVERTHREAD_NAMESPACE
from ..state.turn_records import Upkeep
from .facts import learn
from .turn import Turn

logger = logging.getLogger(__name__)


async def remember(state: ConversationState, turn: Turn) -> Update:
    """Archive what is not archived yet; begin to read it for facts, and to embed what has no vector yet.

    Every message of the chain is offered to the archive, which keeps the ones it knows as they are: so a turn whose
    archiving failed is archived with the next. A failure is told in `upkeep.error`, and the turn goes on.
    """
    messages = state["messages"]
    upkeep = Upkeep()
    try:
        messages, archived = await _archived(messages, turn)
        upkeep = Upkeep(archived=archived)
    except StorageError as error:
        logger.warning("The turn was not wholly remembered: %s", error)
        return {"upkeep": upkeep.model_copy(update={"error": str(error)})}
    learn(turn)
    turn.resources.embed_later(turn.user_id, turn.settings.embedding_timeout)
    if trouble := turn.resources.database.trouble:
        upkeep = upkeep.model_copy(update={"error": trouble})
    outdated = set(outdated_ids(messages, turn.settings))
    kept = lighten([message for message in messages if message.id not in outdated])
    # Overwrite, because single removals would show up in the stream of messages.
    return {"upkeep": upkeep, **({} if kept == state["messages"] else {"messages": Overwrite(kept)})}


async def _archived(messages: list[AnyMessage], turn: Turn) -> tuple[list[AnyMessage], int]:
    """The chain when it is archived, and how many of its messages were new.

    A message whose id is taken by another content (a model that gives all its replies one id, an edit in a fork of the
    thread) gets an id of its own, so that both are kept.
    """
    archive, where = turn.resources.archive, (turn.user_id, turn.thread_id)
    added, changed = await archive.offer_messages(*where, _said_whole(messages))
    if not changed:
        return messages, len(added)
    logger.warning("%d messages came with the id of another message: each is kept under its own.", len(changed))
    own = [renamed(message) if message.id in changed else message for message in messages]
    more = await archive.add_messages(*where, [m for m, old in zip(own, messages, strict=True) if m is not old])
    return own, len(added) + len(more)


def renamed(message: AnyMessage) -> AnyMessage:
    """The message under an id that is made from its content, for one whose own id is taken by another content."""
    key = json.dumps([message.id, message.type, message.content], default=str)
    copy: AnyMessage = message.model_copy(update={"id": str(uuid.uuid5(EVERTHREAD_NAMESPACE, key))})
    return copy


async def archive_said(messages: Sequence[AnyMessage], turn: Turn) -> list[str]:
    """Archive the conversation's part of the chain, without commands; returns the ids that were new.

    Raises:
        StorageError: the database fails.
    """
    return await turn.resources.archive.add_messages(turn.user_id, turn.thread_id, _said_whole(messages))


def _said_whole(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """What belongs into the archive and is there as it was said: what was lightened is archived already."""
    return [message for message in messages if is_said(message) and not is_lightened(message)]
