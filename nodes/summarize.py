"""Summarize: a part of the live chain becomes a summary that stands where it stood.

Archive first, then the summary, and only then the chain shrinks. One run of the node makes one summary; the edge
behind it leads back while more is due, level by level. Where none is, a summary may be made again that had been
rejected: one a turn at most.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite

from ..compression.chain import Batch, summaries_of
from ..compression.engine import compress, policy_of, twin_of
from ..compression.thread import after_rejection, batch_due, control_of, holds_rejected, settings_in, turn_of
from ..compression.writing import Written
from ..state.conversation import ConversationState, Update
from ..state.errors import ModelError, StorageError
from ..state.messages import live_chain
from ..state.records import Summary
from ..state.settings import Settings
from ..state.turn_records import Upkeep
from .facts import keep_summary_facts
from .make_summary import make_summary
from .remake import remake_rejected
from .turn import Turn

logger = logging.getLogger(__name__)


async def summarize(state: ConversationState, turn: Turn) -> Update:
    """Make the summary that is due, store it, and put it into the chain; else make a rejected one again.

    Where it cannot be made or stored, the chain stays as it is, `upkeep.error` says why, and the next turn tries again.
    """
    settings = settings_in(state, turn.settings)
    batch = batch_due(state, settings)
    upkeep = state.get("upkeep", Upkeep())
    if batch is None:
        return await remake_rejected(state, settings, turn)
    try:
        chain, written = await shrink(state["messages"], batch, settings, turn)
    except (StorageError, ModelError) as error:
        logger.warning("The chain stays as it is: %s", error)
        return {"upkeep": upkeep.model_copy(update={"error": str(error)})}
    if turn.resources.embedder.ready:
        turn.resources.embed_later(turn.user_id, settings.embedding_timeout)
    done: Update = {"summaries": (*upkeep.summaries, written.summary.id)}
    if written.instead:
        told = f"A summary is the extractive summarizer's, not the model's: {written.instead.rstrip('.')}."
        done["degraded"] = (*upkeep.degraded, told)
    update: Update = {"messages": Overwrite(chain), "upkeep": upkeep.model_copy(update=done)}
    # Also where a rejected one has just become part of a higher one, and stands in the chain no longer.
    if written.summary.rejected:
        update["compression"] = after_rejection(control_of(state), turn_of(state))
    elif holds_rejected(state["messages"]):
        update["compression"] = control_of(state).model_copy(update={"remake_owed": True})
    return update


async def shrink(
    messages: Sequence[AnyMessage], batch: Batch, settings: Settings, turn: Turn
) -> tuple[list[AnyMessage], Written]:
    """Write the summary of a batch and store it; returns the chain with it, and what was written.

    Raises:
        StorageError: it cannot be stored.
        ModelError: the summary model failed, and the settings want no fallback.
    """
    written = await make_summary(batch, settings, turn, standing=summaries_of(live_chain(messages)))
    twin = twin_of(messages, written.summary) if policy_of(settings).merges_twins else None
    if twin is not None and twin.id not in batch.source_ids:
        batch, written = _with_twin(batch, written, twin, turn.thread_id)
    await turn.resources.archive.add_summary(turn.user_id, turn.thread_id, written.summary)
    if written.facts:
        await keep_summary_facts(turn, [draft.model_dump() for draft in written.facts], batch.sources)
    return compress(messages, batch, written.summary), written


def _with_twin(batch: Batch, written: Written, twin: AnyMessage, thread_id: str) -> tuple[Batch, Written]:
    """The batch and its summary with the twin among the sources, so that the same words do not stand twice."""
    grown = Batch(batch.level, (twin, *batch.sources), batch.kept_ids)
    summary = written.summary.model_copy(
        update={
            "id": Summary.id_for(thread_id, grown.level, grown.source_ids),
            "source_ids": grown.source_ids,
            "covers": grown.covers,
        }
    )
    return grown, written._replace(summary=summary)
