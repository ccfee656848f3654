"""Summarize: the chain is compressed as the profile says (seed `000`, strategy 3).

The summary is stored first, and only then the chain shrinks. One run of the node makes one summary; the edge behind it
leads back while more is due, level by level. Where none is, a summary may be made again that had been rejected: one a
turn at most. What a model writes is left to `runtime.later_summaries`, unless the thread is far behind.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..compression.thread import (
    after_summaries,
    as_channel,
    batch_due,
    control_of,
    is_far_behind,
    regeneration_due,
    settings_in,
    turn_of,
)
from ..runtime.events import tell
from ..runtime.later_summaries import SUMMARIES_A_TURN
from ..runtime.make_summary import shrink
from ..runtime.regenerate_rejected import after_try, try_owed
from ..runtime.turn import Turn
from ..state.errors import ModelError, StorageError
from ..state.turn_records import AfterReply
from ..state.update import Update

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)


async def summarize(state: ConversationState, turn: Turn) -> Update:
    """Make the summary that is due, store it, and put it into the chain; else make a rejected one again.

    Where it cannot be made or stored, the chain stays as it is, `after_reply.error` says why; the next turn tries it.
    """
    settings = settings_in(state, turn.settings)
    live = turn.live(state)
    batch = batch_due(state, live, settings)
    after_reply = state.get("after_reply", AfterReply())
    if batch is None:
        return after_try(state, await try_owed(state, settings, turn))
    tell("summarizing", messages=len(batch.sources), level=batch.level)
    try:
        known = state.get("chain_texts")
        chain, written = await shrink(live.chain, live.view, batch, settings, turn, known=known)
    except (StorageError, ModelError) as error:
        logger.warning("The chain stays as it is: %s", error)
        return {"after_reply": after_reply.model_copy(update={"error": str(error)})}
    if turn.resources.embedder.ready:
        turn.user.embed_later(settings.timeouts.embedding)
    summary = written.summary
    done: Update = {
        "summaries": (*after_reply.summaries, summary.id),
        "calls": (*after_reply.calls, *written.calls),
        "coherence": (*after_reply.coherence, *([written.coherence] if written.coherence else [])),
    }
    if written.instead:
        reason = written.instead.rstrip(".")
        degraded = f"A summary is the extractive summarizer's, not the model's: {reason}."
        done["degraded"] = (*after_reply.degraded, degraded)
    texts = {**(state.get("chain_texts") or {}), summary.id: summary}
    update: Update = {"chain": chain, "chain_texts": texts, "after_reply": after_reply.model_copy(update=done)}
    if (owed := after_summaries(control_of(state), turn_of(state), [summary], live.view)) is not None:
        update["compression"] = as_channel(owed)
    return update


def no_summary_due(state: ConversationState, turn: Turn) -> bool:
    """Whether the turn ends here: no summary is due, none is to be made again, or the step before failed."""
    after_reply = state.get("after_reply")
    if after_reply is not None and (after_reply.error is not None or len(after_reply.summaries) >= SUMMARIES_A_TURN):
        return True
    live, settings = turn.live(state), settings_in(state, turn.settings)
    if turn.resources.models.summarizes(settings):
        return not is_far_behind(state, live, settings, most=turn.resources.later.may_be_behind)
    return batch_due(state, live, settings) is None and not regeneration_due(state, live.view)
