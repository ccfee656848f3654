"""Writing a summary: the model's, checked; once more and more strictly; else the extractive one.

What is larger than the model's window is summarized in parts, and their summaries are merged: nothing is left out.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from ..models.chat import input_window, model_name
from ..models.locality import is_local_model
from ..models.replies import finish_of
from ..models.sampling import refuses_temperature, sampled
from ..prompts import summarize as prompts
from ..settings.run import RunSettings
from ..state.errors import ModelError, first_line
from ..state.messages import content_text
from ..state.records import Summary
from ..state.turn_records import Coherence, ModelCall
from ..text.extractive import extract_summary as extract
from ..text.sentences import sentences
from ..text.shorten import beginning
from ..text.tokens import estimate_tokens
from .acceptance import vocabulary_share, why_rejected
from .chain import Batch
from .drafts import FactDraft, SummaryDraft, read_draft
from .source import Turns, holds_messages, holds_summaries, in_parts, shortened_source, source_text, turns_of

logger = logging.getLogger(__name__)

NO_WORDS: Final = "(nothing was said in words)"

CUT_OFF: Final = "it was cut off before its end"

_OVERHEAD: Final = 400
"""Tokens kept for the instructions."""

_REPLY: Final = 512
"""Tokens kept for the reply, at least."""

TEMPERATURE: Final = 0.1
"""Of the summary model (seed `002`, "generateAISummary"), whatever that of the conversation is."""

_LOCAL_REPLY: Final = 100
_CLOUD_REPLY: Final = 300
"""Tokens of a summary by a model on this machine, and by another one, at most (seed `002`); more where the settings
want longer summaries."""

_FACTS_REPLY: Final = 700
"""Tokens for the facts beside it."""

_LEAST_ROOM: Final = 300
_MOST_PARTS: Final = 8


@dataclass(frozen=True)
class Summarizer:
    """A model that writes summaries, and how it is called. `timeout` is seconds for one call."""

    model: BaseChatModel
    config: RunnableConfig
    timeout: float

    @property
    def local(self) -> bool:
        """Whether it runs on this machine: then it gets the strict prompt, and is not asked for JSON."""
        return is_local_model(self.model)

    def room(self, settings: RunSettings) -> int:
        """Tokens of source that it can be given in one call."""
        window = input_window(self.model) or getattr(self.model, "n_ctx", None) or settings.max_context_tokens
        return max(_LEAST_ROOM, int(window) - max(settings.summary_length, _REPLY) - _OVERHEAD)


class Written(NamedTuple):
    """A summary.

    Attributes:
        summary: the summary.
        facts: that came with it in the same call.
        instead: why no model wrote it though one should have.
        calls: the requests to the model.
        coherence: how far it agrees with its sources.
    """

    summary: Summary
    facts: tuple[FactDraft, ...] = ()
    instead: str | None = None
    calls: tuple[ModelCall, ...] = ()
    coherence: Coherence | None = None


class _Told(NamedTuple):
    """A part of a batch summarized by a model or, where `rejected` says why, by the extractive summarizer."""

    draft: SummaryDraft
    rejected: str | None = None


async def write_summary(
    batch: Batch,
    settings: RunSettings,
    *,
    thread_id: str,
    summarizer: Summarizer | None,
    standing: Collection[str] = (),
) -> Written:
    """The summary of a batch, of its own length at most.

    Args:
        batch: what is summarized.
        settings: lengths, and whether the extractive summarizer serves where the model fails.
        thread_id: the thread, which is part of the summary's id.
        summarizer: the model; None for the extractive summarizer.
        standing: hashes of the summaries that stand in the chain.

    Raises:
        ModelError: the model failed, and `summary_fallback` is off.
    """
    turns = turns_of(batch.sources)
    if summarizer is None:
        told = _Told(SummaryDraft(await _extracted(turns, settings)))
    else:
        told = await _told(batch, turns, settings, summarizer, standing)
    written_by = model_name(summarizer.model) if summarizer is not None and told.rejected is None else None
    summary = Summary(
        id=Summary.id_for(thread_id, batch.level, batch.source_ids),
        content=told.draft.text,
        level=batch.level,
        source_ids=batch.source_ids,
        method="model" if written_by else "extractive",
        model=written_by,
        tokens=estimate_tokens(told.draft.text),
        covers=batch.covers,
        rejected=told.rejected,
    )
    share = await asyncio.to_thread(vocabulary_share, summary.content, source_text(turns))
    agrees = Coherence(summary_id=summary.id, level=summary.level, method=summary.method, score=round(share, 3))
    return Written(summary, told.draft.facts, told.rejected, coherence=agrees)


async def _told(
    batch: Batch, turns: Turns, settings: RunSettings, summarizer: Summarizer, standing: Collection[str]
) -> _Told:
    room = summarizer.room(settings)
    facts = holds_messages(batch.sources) and not summarizer.local
    instructions = prompts.MESSAGES if not holds_summaries(batch.sources) else prompts.UPDATE
    instructions = instructions if holds_messages(batch.sources) else prompts.MERGE
    parts = in_parts(await asyncio.to_thread(shortened_source, turns, room * _MOST_PARTS), room)
    if len(parts) == 1:
        return await _asked(parts[0], instructions, settings, summarizer, standing, facts=facts)
    logger.info("A batch larger than the summarizer's window is summarized in %d parts.", len(parts))
    told = [await _asked(part, instructions, settings, summarizer, (), facts=facts) for part in parts]
    merged = await _merged([part.draft.text for part in told], settings, summarizer, standing)
    rejected = next((part.rejected for part in [*told, merged] if part.rejected), None)
    return _Told(SummaryDraft(merged.draft.text, tuple(fact for part in told for fact in part.draft.facts)), rejected)


async def _merged(
    texts: Sequence[str], settings: RunSettings, summarizer: Summarizer, standing: Collection[str]
) -> _Told:
    parts = in_parts([("", text) for text in texts], summarizer.room(settings))
    while len(parts) > 1 and len(parts) < len(texts):
        told = [await _asked(part, prompts.MERGE, settings, summarizer, ()) for part in parts]
        texts = [part.draft.text for part in told]
        parts = in_parts([("", text) for text in texts], summarizer.room(settings))
    if len(parts) > 1:
        return _Told(
            SummaryDraft(await _extracted([("", text) for text in texts], settings)), "its parts are too large"
        )
    return await _asked(parts[0], prompts.MERGE, settings, summarizer, standing)


async def _asked(
    turns: Turns,
    instructions: str,
    settings: RunSettings,
    summarizer: Summarizer,
    standing: Collection[str],
    *,
    facts: bool = False,
) -> _Told:
    """The model's draft of one part; the extractive one where it was rejected twice, or failed."""
    source = source_text(turns)
    reason: str | None = None
    kept: tuple[FactDraft, ...] = ()
    try:
        for _ in range(2):
            prompt = _prompt(source, instructions, settings, summarizer, facts=facts, rejected=reason)
            # A model that thinks may have thought past the limit: the second try is not held to it.
            most = _reply_tokens(settings, summarizer, facts=facts) if reason != CUT_OFF else None
            draft = await _draft(prompt, summarizer, most)
            kept = draft.facts or kept
            reason = (
                CUT_OFF
                if draft.cut_off
                else await asyncio.to_thread(
                    why_rejected,
                    draft.text,
                    source,
                    max_chars=settings.max_summary_chars,
                    local=summarizer.local,
                    standing=standing,
                )
            )
            if reason is None:
                return _Told(draft._replace(facts=kept))
            logger.warning("A summary of %d characters was not accepted: %s.", len(draft.text), reason)
    except Exception as error:  # a provider may raise anything; the turn must go on
        if not settings.summary_fallback:
            raise ModelError(
                f"The summary model {model_name(summarizer.model)!r} failed: {_kind(error)}. The messages stay as they "
                "are, and the next turn tries again."
            ) from error
        logger.warning("The summary model failed (%s), the extractive summarizer serves.", type(error).__name__)
        reason = f"the model failed ({type(error).__name__})"
    return _Told(SummaryDraft(await _extracted(turns, settings), kept), reason)


def _reply_tokens(settings: RunSettings, summarizer: Summarizer, *, facts: bool) -> int:
    if summarizer.local:
        return max(_LOCAL_REPLY, settings.summary_length)
    return max(_CLOUD_REPLY, 2 * settings.summary_length) + (_FACTS_REPLY if facts else 0)


async def _draft(prompt: list[SystemMessage | HumanMessage], summarizer: Summarizer, most: int | None) -> SummaryDraft:
    """What the model wrote; of a text that its provider says was cut off, the local model's last sentence is left out.

    Small local models run to their limit for a sentence or two; another model's cut text has lost its end.
    """
    async with asyncio.timeout(summarizer.timeout):
        model = sampled(summarizer.model, temperature=TEMPERATURE, max_tokens=most)
        try:
            reply = await model.ainvoke(prompt, summarizer.config)
        except Exception as error:
            if not refuses_temperature(model, error):
                raise
            model = sampled(summarizer.model, temperature=TEMPERATURE, max_tokens=most)
            reply = await model.ainvoke(prompt, summarizer.config)
    text = content_text(reply.content)
    draft = read_draft(text)
    finish, _ = finish_of(reply)
    if finish != "length" or text.lstrip().startswith(("{", "```")):
        return draft
    whole = [sentence for sentence in sentences(draft.text)[:-1] if summarizer.local]
    return draft._replace(text=" ".join(whole) or draft.text, cut_off=not whole)


def _prompt(
    source: str, instructions: str, settings: RunSettings, summarizer: Summarizer, *, facts: bool, rejected: str | None
) -> list[SystemMessage | HumanMessage]:
    words = round(settings.summary_length * 0.7)
    told = (prompts.LOCAL if summarizer.local else instructions).format(words=words)
    told += prompts.STRICT.format(reason=rejected) if rejected else ""
    told += prompts.FACTS if facts and not rejected else ""
    excerpt = prompts.EXCERPT.format(text=source, nonce=secrets.token_hex(4))
    return [SystemMessage(told + prompts.DATA), HumanMessage(excerpt)]


async def _extracted(turns: Turns, settings: RunSettings) -> str:
    text = await asyncio.to_thread(extract, turns, settings.summary_length)
    return beginning(text, settings.max_summary_chars) or NO_WORDS


def _kind(error: BaseException) -> str:
    return "it took too long" if isinstance(error, TimeoutError) else first_line(error)
