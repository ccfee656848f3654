"""Summarize: a part of the live chain becomes a summary that stands where it stood.

Archive first, then the summary, and only then the chain shrinks. One run of the node makes one summary; the edge
behind it leads back while more is due, level by level.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import cast

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite

from ..compression.acceptance import prefix_hash
from ..compression.chain import Batch, summaries_of
from ..compression.engine import compress, policy_of, twin_of
from ..compression.thread import batch_due, settings_in
from ..compression.writing import Summarizer, Written, write_summary
from ..state.conversation import ConversationState, Update
from ..state.errors import EverthreadError, ModelError, StorageError
from ..state.lighten import is_lightened
from ..state.messages import live_chain, message_text
from ..state.records import Summary
from ..state.settings import Settings
from ..state.turn_records import Upkeep
from .facts import keep_summary_facts
from .turn import Turn

logger = logging.getLogger(__name__)


async def summarize(state: ConversationState, turn: Turn) -> Update:
    """Make the summary that is due, store it, and put it into the chain.

    Where it cannot be made or stored, the chain stays as it is, `upkeep.error` says why, and the next turn tries again.
    """
    settings = settings_in(state, turn.settings)
    batch = batch_due(state, settings)
    upkeep = state.get("upkeep", Upkeep())
    if batch is None:
        return {}
    try:
        chain, written = await shrink(state["messages"], batch, settings, turn)
    except (StorageError, ModelError) as error:
        logger.warning("The chain stays as it is: %s", error)
        return {"upkeep": upkeep.model_copy(update={"error": str(error)})}
    return {
        "messages": Overwrite(chain),
        "upkeep": upkeep.model_copy(update={"summaries": (*upkeep.summaries, written.summary.id)}),
    }


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


async def make_summary(batch: Batch, settings: Settings, turn: Turn, *, standing: Sequence[AnyMessage] = ()) -> Written:
    """The summary of a batch: the model's if one is set and its text can be accepted, else the extractive one.

    Raises:
        StorageError: a message of which the chain has only a part cannot be read from the archive.
        ModelError: the summary model failed, and the settings want no fallback.
    """
    whole = await _whole(batch, turn)
    hashes = frozenset(prefix_hash(message_text(message)) for message in standing)
    return await write_summary(
        whole,
        settings,
        thread_id=turn.thread_id,
        summarizer=await _summarizer(settings, turn),
        standing=hashes,
    )


async def _summarizer(settings: Settings, turn: Turn) -> Summarizer | None:
    try:
        model = await turn.resources.summary_model(settings)
    except EverthreadError as error:
        if not settings.summary_fallback:
            raise ModelError(str(error)) from error
        logger.warning("The summary model cannot be loaded, the extractive summarizer serves: %s", error)
        return None
    return None if model is None else Summarizer(model, turn.quiet(), settings.model_timeout)


async def _whole(batch: Batch, turn: Turn) -> Batch:
    """The batch with the whole message where the chain has only its head and end."""
    light = [str(message.id) for message in batch.sources if is_lightened(message)]
    if not light:
        return batch
    whole = await turn.resources.archive.whole_messages(turn.user_id, turn.thread_id, light)
    return batch._replace(sources=tuple(cast("AnyMessage", whole.get(str(m.id), m)) for m in batch.sources))


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
