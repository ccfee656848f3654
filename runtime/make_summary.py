"""Making the summary of a batch: the summarizer that the settings name, the checks, and its place in the chain."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from langchain_core.messages import AnyMessage, BaseMessage

from ..compression.acceptance import text_hash
from ..compression.chain import Batch, summaries_of
from ..compression.engine import compress, duplicate_of, policy_of
from ..compression.writing import Summarizer, Written, write_summary
from ..models.callbacks import CallRecorder, heard_by
from ..settings.settings import Settings
from ..state.chain import Chain, ChainView
from ..state.errors import EverthreadError, ModelError
from ..state.messages import message_text
from ..state.records import Summary
from .facts import keep_summary_facts
from .turn import Turn

logger = logging.getLogger(__name__)


async def make_summary(batch: Batch, settings: Settings, turn: Turn, *, standing: Sequence[AnyMessage] = ()) -> Written:
    """The summary of a batch: the model's if one is set and its text can be accepted, else the extractive one.

    Raises:
        ModelError: the summary model failed, and the settings want no fallback.
    """
    hashes = frozenset(text_hash(message_text(message)) for message in standing)
    recorder = CallRecorder()
    summarizer, missing = await _summarizer(settings, turn, recorder)
    written = await write_summary(batch, settings, thread_id=turn.thread_id, summarizer=summarizer, standing=hashes)
    return written._replace(instead=missing or written.instead, calls=recorder.calls)


async def _summarizer(settings: Settings, turn: Turn, recorder: CallRecorder) -> tuple[Summarizer | None, str | None]:
    """The summarizer, or why there is none though the settings name one."""
    try:
        model = await turn.resources.models.summarizer(settings)
    except EverthreadError as error:
        if not settings.summary_fallback:
            raise ModelError(str(error)) from error
        logger.warning("The summary model cannot be loaded, the extractive summarizer serves: %s", error)
        return None, str(error)
    if model is None:
        return None, None
    return Summarizer(model, heard_by(recorder, turn.quiet()), settings.timeouts.model), None


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
    twin = duplicate_of(view, written.summary) if policy_of(settings).merges_duplicates else None
    if twin is not None and twin.id not in batch.source_ids:
        batch, written = _with_duplicate(batch, written, twin, turn.thread_id)
    await turn.user.archive.add_summary(turn.thread_id, written.summary)
    if written.facts:
        await keep_summary_facts(turn, written.facts, batch.sources)
    return compress(chain, batch, written.summary), written


def _with_duplicate(batch: Batch, written: Written, twin: AnyMessage, thread_id: str) -> tuple[Batch, Written]:
    """The batch and its summary with the twin among the sources, so that the same words do not stand twice."""
    grown = Batch(batch.level, (twin, *batch.sources), batch.kept_ids)
    summary = written.summary.model_copy(
        update={
            "id": Summary.id_for(thread_id, grown.level, grown.source_ids),
            "source_ids": grown.source_ids,
            "covers": grown.covers,
        }
    )
    agrees = written.coherence.model_copy(update={"summary_id": summary.id}) if written.coherence else None
    return grown, written._replace(summary=summary, coherence=agrees)
