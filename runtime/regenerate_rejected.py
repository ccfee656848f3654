"""A summary is made again from its sources: with the same checks, under its id, and the text it had is kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from langchain_core.messages import AnyMessage

from ..compression.acceptance import lost_share
from ..compression.chain import Batch, summaries_of
from ..compression.thread import after_regeneration, as_channel, control_of, nothing_owed, turn_of
from ..compression.writing import Written
from ..settings.settings import Settings
from ..state.compression_records import Regenerated
from ..state.errors import InputError, ModelError, StorageError
from ..state.records import Summary
from ..state.turn_records import AfterReply
from ..state.update import Update
from .facts import keep_summary_facts
from .make_summary import make_summary
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)

MOST_DRIFT: Final = 0.75
"""The share of the content words of a model's accepted summary that may be gone when it is made again: as much as a
summary may differ from its source, see `LEAST_SHARE` in `compression/acceptance.py`."""


class Tried(NamedTuple):
    """What came of trying to make a rejected summary again.

    Attributes:
        made: the summary with its new text; None where it has none.
        reason: why it has none.
        is_owed: whether there was a rejected one.
    """

    made: Summary | None = None
    reason: str = ""
    is_owed: bool = True


async def try_owed(state: ConversationState, settings: Settings, turn: Turn) -> Tried:
    """Make one rejected summary of the thread again, if there is one; the turn goes on whatever comes of it.

    The one that was tried least comes first, and of these the oldest, so that a higher summary comes after its sources.
    """
    try:
        found = await turn.user.summaries.rejected(turn.thread_id, limit=1)
        if not found:
            return Tried(is_owed=False)
        return await _tried(found[0], settings, turn, standing=summaries_of(turn.live(state).view))
    except StorageError as error:
        return Tried(reason=str(error))


def after_try(state: ConversationState, tried: Tried) -> Update:
    """What a turn notes of it: in its report, and when the next try comes."""
    after_reply, control, number = state.get("after_reply", AfterReply()), control_of(state), turn_of(state)
    texts, made = dict(state.get("chain_texts") or {}), tried.made
    if not tried.is_owed:
        return {"compression": as_channel(nothing_owed(control, number))}
    control = after_regeneration(control, number, failed=made is None)
    if made is None:
        sentence = (
            f"A summary that had been rejected was not made again ({tried.reason.rstrip('.')}): "
            f"the next try is in turn {control.regeneration_turn}."
        )
        after_reply = after_reply.model_copy(update={"not_regenerated": sentence})
        logger.info("A rejected summary was not made again; the next try is in turn %d.", control.regeneration_turn)
    else:
        after_reply = after_reply.model_copy(update={"regenerated": (*after_reply.regenerated, made.id)})
        texts[made.id] = made
    return {"chain_texts": texts, "after_reply": after_reply, "compression": as_channel(control)}


async def _tried(summary: Summary, settings: Settings, turn: Turn, standing: Sequence[AnyMessage]) -> Tried:
    try:
        made = await regenerate_summary(summary, settings, turn, standing=standing)
    except (ModelError, InputError) as error:
        await turn.user.summaries.count_try(turn.thread_id, summary.id)
        return Tried(reason=str(error).split(". ", maxsplit=1)[0])
    return Tried(made.summary if made.replaced else None, made.reason or "")


async def regenerate_summary(
    summary: Summary, settings: Settings, turn: Turn, *, standing: Sequence[AnyMessage] = ()
) -> Regenerated:
    """Make a summary again from its direct sources, and store it where the new text can be accepted.

    Its id stays, so that all that names it holds; so does its time. Where the new text is rejected or the same, the
    summary stays as it is, and the answer says why.

    Args:
        summary: as the archive has it.
        settings: lengths, and which model writes.
        turn: whose thread it is, and which.
        standing: the summaries that stand in the chain, which the new text must not repeat.

    Raises:
        InputError: one of its sources is gone.
        StorageError: the archive cannot be read or written.
        ModelError: the summary model failed, and the settings want no fallback.
    """
    rows = turn.user.summaries
    sources = await rows.sources(turn.thread_id, summary.source_ids)
    if sources.missing:
        raise InputError(
            f"Summary {summary.id!r} cannot be made again: its source {sources.missing[0]!r} is not in the archive. "
            "`everthread doctor --repair` brings back what can be."
        )
    others = [message for message in (*standing, *summaries_of(sources.messages)) if message.id != summary.id]
    batch = Batch(summary.level, sources.messages)
    written = _as_version(await make_summary(batch, settings, turn, standing=others), summary)
    drift = round(await asyncio.to_thread(lost_share, summary.content, written.summary.content), 3)
    reason = _why_kept(written.summary, summary, drift)
    if reason is not None:
        if summary.rejected:
            await rows.count_try(turn.thread_id, summary.id)
        return Regenerated(summary=summary, replaced=False, reason=reason, drift=drift)
    await rows.replace(turn.thread_id, written.summary)
    if written.facts:
        await keep_summary_facts(turn, written.facts, sources.messages)
    if turn.resources.embedder.ready:  # else the next turn does it
        turn.user.embed_later(settings.timeouts.embedding)
    return Regenerated(summary=written.summary, replaced=True, drift=drift)


def _as_version(written: Written, old: Summary) -> Written:
    # An imported thread may have another id than the one its summaries' ids were made from.
    same = {"id": old.id, "source_ids": old.source_ids, "created_at": old.created_at, "version": old.version + 1}
    return written._replace(summary=written.summary.model_copy(update=same))


def _why_kept(new: Summary, old: Summary, drift: float) -> str | None:
    """Why the text that stands is kept; None where the new one takes its place."""
    if new.rejected:
        return new.rejected
    if old.rejected and new.method == "extractive":
        return "no summary model is set"
    if drift > MOST_DRIFT and not old.rejected and old.method == new.method == "model":
        return f"it has lost {drift:.0%} of what the text before says (drift)"
    return "it came out the same" if new.content == old.content and new.method == old.method else None
