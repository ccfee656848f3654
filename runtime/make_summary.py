"""Making the summary of a batch: the summarizer that the settings name, the checks, and its place in the chain."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.messages import AnyMessage, BaseMessage

from ..compression.acceptance import text_hash
from ..compression.chain import Batch, of_level, summaries_of
from ..compression.ends import outline, planned
from ..compression.engine import compress, duplicate_of, policy_of
from ..compression.source import source_text, turns_of
from ..compression.summarizer import Summarizer
from ..compression.thread import after_summaries, as_channel, control_of, settings_in, turn_of
from ..compression.together import with_texts, write_due
from ..compression.writing import Written, write_summary
from ..facts.consistency import contradicted, told_of_user
from ..facts.extraction import Occasion
from ..models.callbacks import CallRecorder, heard_by
from ..settings.settings import Settings
from ..state.chain import Chain, ChainView
from ..state.errors import EverthreadError, ModelError, StorageError
from ..state.messages import message_text
from ..state.records import Summary
from ..state.turn_records import AfterReply
from ..state.update import Update
from .facts import keep_summary_facts
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)

NOT_ASKED: Final[Mapping[str, Any]] = MappingProxyType({})

LOOK_AHEAD: Final = 16
"""Summaries that are looked up in the archive at once."""


async def make_summary(batch: Batch, settings: Settings, turn: Turn, *, standing: Sequence[AnyMessage] = ()) -> Written:
    """The summary of a batch: the model's if one is set and its text can be accepted, else the extractive one.

    Raises:
        ModelError: the summary model failed, and the settings want no fallback.
    """
    return (await make_summaries([batch], settings, turn, standing=standing))[0]


async def make_summaries(
    plan: Sequence[Batch],
    settings: Settings,
    turn: Turn,
    *,
    standing: Sequence[AnyMessage],
    asked: Mapping[str, Any] = NOT_ASKED,
) -> list[Written]:
    """The first summaries of a plan, as many as one call brings: see `compression.together.write_due`.

    Args:
        plan: what is due.
        settings: lengths, and which model writes.
        turn: whose thread it is, and which.
        standing: the summaries that stand in the chain.
        asked: how the model is asked, where that is not as usual: attributes of the `Summarizer`.

    Raises:
        ModelError: the summary model failed, and the settings want no fallback.
    """
    hashes = frozenset(text_hash(message_text(message)) for message in standing)
    recorder = CallRecorder()
    summarizer, missing = await _summarizer(settings, turn, recorder)
    if summarizer is not None and asked:
        summarizer = replace(summarizer, **asked)
    written = await write_due(plan, settings, thread_id=turn.thread_id, summarizer=summarizer, standing=hashes)
    written = [one._replace(instead=missing or one.instead) for one in written]
    written = await _agreeing(plan, written, settings, turn)
    return [written[0]._replace(calls=recorder.calls), *written[1:]]


async def _agreeing(plan: Sequence[Batch], written: Sequence[Written], settings: Settings, turn: Turn) -> list[Written]:
    """The same; the extractive summarizer's in place of one that tells of the user otherwise than what is known."""
    made: dict[str, Summary] = {}
    checked: list[Written] = []
    for batch, one in zip(plan, written, strict=False):
        whole = with_texts(batch, made)
        if one.summary.method == "model" and (reason := await _against_what_is_known(one.summary, whole, turn)):
            logger.warning("A summary was not accepted: %s.", reason)
            plain = await write_summary(whole, settings, thread_id=turn.thread_id, summarizer=None)
            summary = plain.summary.model_copy(update={"rejected": reason})
            one = plain._replace(summary=summary, facts=one.facts, instead=reason)  # noqa: PLW2901
        made[one.summary.id] = one.summary
        checked.append(one)
    return checked


async def _against_what_is_known(summary: Summary, batch: Batch, turn: Turn) -> str | None:
    """Why a summary cannot be taken: it tells of the user what is known otherwise, and its sources do not say it."""
    at = Occasion(turn.thread_id, summary.id, summary.created_at)
    told = await asyncio.to_thread(told_of_user, summary.content, at) if turn.settings.facts else []
    if not told:
        return None
    try:
        known = await turn.user.facts.related(told)
    except StorageError as error:
        logger.warning("A summary was not compared with what is known: %s", error)
        return None
    against = contradicted(told, known, source_text(turns_of(batch.sources)))
    names = sorted({fact.attribute or "" for fact in against})
    return f"it tells of the user otherwise than what is known: {', '.join(names)}" if names else None


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

    One that the archive has already, as after a crash, is taken as it is, in the words that it has there.

    Raises:
        StorageError: it cannot be stored.
        ModelError: the summary model failed, and the settings want no fallback.
    """
    id_ = Summary.id_for(turn.thread_id, batch.level, batch.source_ids)
    if isinstance(made := (known or {}).get(id_), Summary):
        await turn.user.archive.add_summary(turn.thread_id, made)
        return compress(chain, batch, made), Written(made)
    if turn.resources.models.summarizes(settings) and (found := await _archived([batch], view, settings, turn)):
        ((batch, made),) = found
        return compress(chain, batch, made), Written(made)
    written = await make_summary(batch, settings, turn, standing=summaries_of(view))
    batch, written = without_repeating(batch, written, view, settings, turn.thread_id)
    written = written._replace(summary=await turn.user.archive.add_summary(turn.thread_id, written.summary))
    if written.facts:
        await keep_summary_facts(turn, written.facts, batch.sources)
    return compress(chain, batch, written.summary), written


async def _archived(
    batches: Sequence[Batch], view: ChainView, settings: Settings, turn: Turn
) -> list[tuple[Batch, Summary]]:
    """The summaries of these batches that the archive has, up to the first one that it has not.

    Raises:
        StorageError: the archive cannot be read.
    """
    ways = [_ways(batch, view, settings) for batch in batches]
    ids = [outline(way, turn.thread_id).id for of_one in ways for way in of_one]
    there = await turn.user.summaries.some(turn.thread_id, ids)
    found: list[tuple[Batch, Summary]] = []
    for of_one in ways:
        made = ((way, there.get(outline(way, turn.thread_id).id)) for way in of_one)
        first = next(((way, summary) for way, summary in made if summary is not None), None)
        if first is None:
            break
        found.append(first)
    return found


async def with_archived(state: ConversationState, turn: Turn) -> tuple[ConversationState, Update]:
    """The state with those of the summaries that are due in its chain that were made meanwhile, and what that changes.

    Args:
        state: with its chain and its texts.
        turn: whose thread it is.

    Raises:
        StorageError: the archive cannot be read.
    """
    before, new = turn.live(state).view, dict[str, Summary]()
    settings = settings_in(state, turn.settings)
    while control_of(state).enabled and turn.live(state).chain.get("ends"):
        live = turn.live(state)
        plan = planned(live.chain, live.view, settings, thread_id=turn.thread_id, most=LOOK_AHEAD)
        found = await _archived(plan, live.view, settings, turn) if plan else []
        chain = live.chain
        for batch, summary in found:
            chain = compress(chain, batch, summary)
            new[summary.id] = summary
        if found:
            texts = {**(state.get("chain_texts") or {}), **new}
            state = cast("ConversationState", {**state, "chain": chain, "chain_texts": texts})
        if not found or len(found) < len(plan):
            break
    if not new:
        return state, {}
    after_reply, made = state.get("after_reply", AfterReply()), list(new.values())
    after_reply = after_reply.model_copy(update={"summaries": (*after_reply.summaries, *new)})
    update: Update = {"chain": state["chain"], "chain_texts": state["chain_texts"], "after_reply": after_reply}
    if (owed := after_summaries(control_of(state), turn_of(state), made, before)) is not None:
        update["compression"] = as_channel(owed)
    return cast("ConversationState", {**state, **update}), update


def without_repeating(
    batch: Batch, written: Written, view: ChainView, settings: Settings, thread_id: str
) -> tuple[Batch, Written]:
    """The batch and its summary; with one that says the same among the sources, where the profile wants that."""
    twin = duplicate_of(view, written.summary) if policy_of(settings).merges_duplicates else None
    if twin is None or twin.id in batch.source_ids:
        return batch, written
    grown = _grown(batch, twin)
    summary = written.summary.model_copy(
        update={"id": outline(grown, thread_id).id, "source_ids": grown.source_ids, "covers": grown.covers}
    )
    agrees = written.coherence.model_copy(update={"summary_id": summary.id}) if written.coherence else None
    return grown, written._replace(summary=summary, coherence=agrees)


def _ways(batch: Batch, view: ChainView, settings: Settings) -> list[Batch]:
    """The batch, and what it may have become: see `without_repeating`."""
    twins = of_level(view, batch.level) if policy_of(settings).merges_duplicates else []
    return [batch, *(_grown(batch, twin) for twin in twins if twin.id not in batch.source_ids)]


def _grown(batch: Batch, twin: AnyMessage) -> Batch:
    return batch._replace(sources=(twin, *batch.sources))
