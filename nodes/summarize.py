"""Summarize: the chain is compressed as the profile says (seed `000`, strategy 3).

The summary is stored first, and only then the chain shrinks. One run of the node makes one summary; the edge behind it
leads back while more is due, level by level. Where none is, a summary may be made again that had been rejected: one a
turn at most.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from langchain_core.messages import AnyMessage, BaseMessage

from ..compression.chain import Batch, summaries_of
from ..compression.engine import compress, policy_of, twin_of
from ..compression.thread import (
    after_rejection,
    as_channel,
    batch_due,
    control_of,
    holds_rejected,
    settings_in,
    turn_of,
)
from ..compression.writing import Written
from ..runtime.events import tell
from ..runtime.facts import keep_summary_facts
from ..runtime.make_summary import make_summary
from ..runtime.regenerate_rejected import regenerate_rejected
from ..runtime.turn import Turn
from ..settings.settings import Settings
from ..state.chain import Chain, ChainView
from ..state.conversation import ConversationState, Update
from ..state.errors import ModelError, StorageError
from ..state.records import Summary
from ..state.turn_records import Upkeep

logger = logging.getLogger(__name__)


async def summarize(state: ConversationState, turn: Turn) -> Update:
    """Make the summary that is due, store it, and put it into the chain; else make a rejected one again.

    Where it cannot be made or stored, the chain stays as it is, `upkeep.error` says why, and the next turn tries again.
    """
    settings = settings_in(state, turn.settings)
    live = turn.live(state)
    batch = batch_due(state, live.view, settings)
    upkeep = state.get("upkeep", Upkeep())
    if batch is None:
        return await regenerate_rejected(state, settings, turn)
    tell("summarizing", messages=len(batch.sources), level=batch.level)
    try:
        known = state.get("chain_texts")
        chain, written = await shrink(live.chain, live.view, batch, settings, turn, known=known)
    except (StorageError, ModelError) as error:
        logger.warning("The chain stays as it is: %s", error)
        return {"upkeep": upkeep.model_copy(update={"error": str(error)})}
    if turn.resources.embedder.ready:
        turn.user.embed_later(settings.timeouts.embedding)
    summary = written.summary
    done: Update = {"summaries": (*upkeep.summaries, summary.id)}
    if written.instead:
        reason = written.instead.rstrip(".")
        degraded = f"A summary is the extractive summarizer's, not the model's: {reason}."
        done["degraded"] = (*upkeep.degraded, degraded)
    texts = {**(state.get("chain_texts") or {}), summary.id: summary}
    update: Update = {"chain": chain, "chain_texts": texts, "upkeep": upkeep.model_copy(update=done)}
    # Also where a rejected one has just become part of a higher one, and stands in the chain no longer.
    if summary.rejected:
        update["compression"] = as_channel(after_rejection(control_of(state), turn_of(state)))
    elif holds_rejected(live.view):
        update["compression"] = as_channel(control_of(state).model_copy(update={"remake_owed": True}))
    return update


async def shrink(
    chain: Chain,
    view: ChainView,
    batch: Batch,
    settings: Settings,
    turn: Turn,
    *,
    known: Mapping[str, Summary | BaseMessage] | None = None,
) -> tuple[Chain, Written]:
    """Write the summary of a batch and store it; returns the chain with it, and what was written.

    One that the archive has already, as after a crash, is among the known ones, and is taken as it is.

    Raises:
        StorageError: it cannot be stored.
        ModelError: the summary model failed, and the settings want no fallback.
    """
    id_ = Summary.id_for(turn.thread_id, batch.level, batch.source_ids)
    if isinstance(made := (known or {}).get(id_), Summary):
        await turn.user.archive.add_summary(turn.thread_id, made)
        return compress(chain, batch, made), Written(made)
    written = await make_summary(batch, settings, turn, standing=summaries_of(view))
    twin = twin_of(view, written.summary) if policy_of(settings).merges_twins else None
    if twin is not None and twin.id not in batch.source_ids:
        batch, written = _with_twin(batch, written, twin, turn.thread_id)
    await turn.user.archive.add_summary(turn.thread_id, written.summary)
    if written.facts:
        await keep_summary_facts(turn, [draft.model_dump() for draft in written.facts], batch.sources)
    return compress(chain, batch, written.summary), written


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
