"""Remember: the turn goes into the archive after the reply went out; reading it for facts and embedding it begin."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

from ..compression.ends import ended
from ..compression.engine import outdated_ids
from ..compression.thread import control_of, settings_in
from ..runtime.archiving import archive_new
from ..runtime.away import AWAY
from ..runtime.chain_texts import with_chain
from ..runtime.chat_forgetting import forget_asked, set_aside, turn_messages
from ..runtime.facts import learn
from ..runtime.left_out import leave_out
from ..runtime.make_summary import with_archived
from ..runtime.regenerate_rejected import after_try
from ..runtime.turn import Turn
from ..state.chain import without
from ..state.errors import StorageError
from ..state.records import Recall
from ..state.turn_records import AfterReply
from ..state.update import Update, Whole
from ..state.visible import visible

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)


async def remember(state: ConversationState, turn: Turn) -> Update:
    """Archive what is not archived yet; begin to read it for facts, and to embed what has no vector yet.

    What was not archived counts as new: a turn whose archiving failed is archived with the next. A failure is reported
    in `after_reply.error`, and the turn goes on.
    """
    turn.hold(state)
    if turn.is_away:
        return {"after_reply": AfterReply(error=AWAY)}
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
            said = turn_messages(state)
            state, is_cut = set_aside(state, turn)
            kept = turn_messages(state) if is_cut else []
            await leave_out(turn.user, turn.thread_id, [message for message in said if message not in kept])
        chain, archived = await archive_new(state, turn)
        # What was archived adds nothing to the chain of the state.
        chain = without(chain, outdated_ids(turn.live(state).view, turn.settings))
        state, laid = await with_archived(cast("ConversationState", {**state, "chain": chain}), turn)
        update |= laid
    except StorageError as error:
        logger.warning("The turn was not wholly remembered: %s", error)
        return {
            "after_reply": AfterReply(error=f"What was said is not kept yet, and will be with a later turn: {error}")
        }
    learn(turn, state.get("recall", Recall()))
    turn.user.embed_later(turn.settings.timeouts.embedding)
    if control_of(state).enabled:
        live = turn.live(state)
        state = cast(
            "ConversationState", {**state, "chain": ended(live.chain, live.view, settings_in(state, turn.settings))}
        )
    update |= _noted(state, archived, turn)
    chain = state["chain"]
    turn.resources.later.begin(cast("ConversationState", {**state, **update, "chain": chain}), turn, at_end=True)
    shown = visible(state["messages"], turn.settings.visible_messages)
    known = {str(message.id): chain["known"][str(message.id)] for message in shown}
    update["chain"] = {**chain, "known": known}
    update.pop("messages", None)
    if is_cut or [message.id for message in shown] != [message.id for message in before]:
        # Whole, because single removals would show up in the stream of messages.
        update["messages"] = Whole(shown)
    return update


def _noted(state: ConversationState, archived: int, turn: Turn) -> Update:
    """What the turn tells of what was archived, and of what went on beside the turns since the last one."""
    told = turn.resources.later.told(turn)
    after_reply = state.get("after_reply", AfterReply()).model_copy(
        update={
            "archived": archived,
            "error": turn.resources.database.write_error or told.error,
            "degraded": tuple(told.degraded),
            "calls": tuple(told.calls),
            "coherence": tuple(told.coherence),
        }
    )
    update: Update = {"after_reply": after_reply}
    if told.tried is not None:
        update |= after_try(cast("ConversationState", {**state, **update}), told.tried)
    return update
