"""Writing a summary: the model's, checked; once more and more strictly; else the extractive one.

What is larger than the model's window is summarized in parts, and their summaries are merged: nothing is left out.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from langchain_core.messages import HumanMessage, SystemMessage

from ..models.chat import model_name
from ..models.replies import finish_of
from ..prompts import summarize as prompts
from ..settings.profiles import PROFILES
from ..settings.run import RunSettings
from ..state.messages import content_text
from ..state.records import Summary
from ..state.turn_records import Coherence, ModelCall
from ..text.extractive import extract_summary as extract
from ..text.sentences import sentences
from ..text.shorten import beginning
from ..text.tokens import estimate_tokens
from .acceptance import fitting, local_limit, vocabulary_share, why_rejected
from .chain import Batch
from .drafts import FactDraft, SummaryDraft, read_draft
from .source import Turns, covers_of, holds_messages, holds_summaries, in_parts, shortened_source, source_text, turns_of
from .summarizer import Summarizer, failed, reply_to

logger = logging.getLogger(__name__)

NO_WORDS: Final = "(nothing was said in words)"

CUT_OFF: Final = "it was cut off before its end"

_LOCAL_REPLY: Final = 100
_CLOUD_REPLY: Final = 300
"""Tokens of a summary by a model on this machine, and by another one, at most (seed `002`); more where the settings
want longer summaries."""

_FACTS_REPLY: Final = 700
"""Tokens for the facts beside it."""

_MOST_PARTS: Final = 8

_WORD_CHARS: Final = 7
"""Characters of a word with what stands behind it, rather more than it mostly has: small models run over."""

WORDS_A_TOKEN: Final = 0.7
"""Of a summary, whose length models keep to better in words."""

_OF_MESSAGES, _OF_SUMMARIES = 0.4, 0.5
"""The share of its source that a summary may have: people's, of 260 dialogues, have a sixth to a fourth, few more."""

_MANY, _MOST = 50, 150
"""Messages that a summary stands for, from which an extractive one may have twice and three times the tokens."""

_LEAST_ASKED: Final = 40
"""Tokens of a summary that are asked for of however short a source."""


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
    rejected: str | None = None,
) -> Written:
    """The summary of a batch, of its own length at most.

    Args:
        batch: what is summarized.
        settings: lengths, and whether the extractive summarizer serves where the model fails.
        thread_id: the thread, which is part of the summary's id.
        summarizer: the model; None for the extractive summarizer.
        standing: hashes of the summaries that stand in the chain.
        rejected: why the model's text was not accepted, where it was asked for one already: then it is asked once.

    Raises:
        ModelError: the model failed, and `summary_fallback` is off.
    """
    turns = turns_of(batch.sources)
    if summarizer is None or summarizer.down:
        told = _Told(
            SummaryDraft(await _extracted(turns, settings, covers_of(batch.sources))),
            summarizer.down if summarizer else None,
        )
    else:
        told = await _told(batch, turns, settings, summarizer, standing, rejected=rejected)
    written_by = model_name(summarizer.model) if summarizer is not None and told.rejected is None else None
    made = summary_with(batch, told.draft.text, thread_id=thread_id, model=written_by, rejected=told.rejected)
    agrees = await coherence_of(made, source_text(turns))
    return Written(made, told.draft.facts, told.rejected, coherence=agrees)


async def coherence_of(summary: Summary, source: str) -> Coherence:
    """How far a summary agrees with its source."""
    share = await asyncio.to_thread(vocabulary_share, summary.content, source)
    return Coherence(summary_id=summary.id, level=summary.level, method=summary.method, score=round(share, 3))


def summary_with(batch: Batch, text: str, *, thread_id: str, model: str | None, rejected: str | None = None) -> Summary:
    """The summary of a batch with this text; without a model it is the extractive summarizer's."""
    return Summary(
        id=Summary.id_for(thread_id, batch.level, batch.source_ids),
        content=text,
        level=batch.level,
        source_ids=batch.source_ids,
        method="model" if model else "extractive",
        model=model,
        tokens=estimate_tokens(text),
        covers=batch.covers,
        rejected=rejected,
    )


async def _told(
    batch: Batch,
    turns: Turns,
    settings: RunSettings,
    summarizer: Summarizer,
    standing: Collection[str],
    *,
    rejected: str | None,
) -> _Told:
    room = summarizer.room(settings)
    facts = holds_messages(batch.sources) and not summarizer.local
    instructions = prompts.MESSAGES if not holds_summaries(batch.sources) else prompts.UPDATE
    instructions = instructions if holds_messages(batch.sources) else prompts.MERGE
    parts = in_parts(await asyncio.to_thread(shortened_source, turns, room * _MOST_PARTS), room)
    if len(parts) == 1:
        return await _asked(
            parts[0], instructions, settings, summarizer, standing,
            facts=facts, rejected=rejected, covers=covers_of(batch.sources) if len(parts[0]) == len(turns) else (),
        )  # fmt: skip
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
    rejected: str | None = None,
    covers: Sequence[int] = (),
) -> _Told:
    """The model's draft of one part; the extractive one where it was rejected twice, or failed.

    `covers` is how many messages each of the turns stands for, where that is known.
    """
    source, reason = source_text(turns), rejected
    kept: tuple[FactDraft, ...] = ()
    try:
        for _ in range(summarizer.tries if rejected is None else 1):
            prompt = _prompt(source, instructions, settings, summarizer, facts=facts, rejected=reason)
            # A model that thinks may have thought past the limit: the second try is not held to it.
            most = _reply_tokens(settings, summarizer, facts=facts) if reason != CUT_OFF else None
            draft = await _draft(prompt, summarizer, most)
            if summarizer.local:
                draft = draft._replace(text=fitting(draft.text, local_limit(source, settings.max_summary_chars)))
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
        reason = failed(error, summarizer, settings)
    return _Told(SummaryDraft(await _extracted(turns, settings, covers), kept), reason)


def _reply_tokens(settings: RunSettings, summarizer: Summarizer, *, facts: bool) -> int:
    if summarizer.local:
        return max(_LOCAL_REPLY, settings.summary_length)
    return max(_CLOUD_REPLY, 2 * settings.summary_length) + (_FACTS_REPLY if facts else 0)


async def _draft(prompt: list[SystemMessage | HumanMessage], summarizer: Summarizer, most: int | None) -> SummaryDraft:
    """What the model wrote; of a text that its provider says was cut off, the local model's last sentence is left out.

    Small local models run to their limit for a sentence or two; another model's cut text has lost its end.
    """
    reply = await reply_to(prompt, summarizer, most)
    text = content_text(reply.content)
    draft = read_draft(text)
    finish, _ = finish_of(reply)
    if finish != "length" or text.lstrip().startswith(("{", "```")):
        return draft
    whole = [sentence for sentence in sentences(draft.text)[:-1] if summarizer.local]
    return draft._replace(text=" ".join(whole) or draft.text, cut_off=not whole)


def words_for(source: int, settings: RunSettings, *, is_merged: bool) -> int:
    """Words that a model is asked for, at most: those of the settings, fewer where there is little to summarize.

    Args:
        source: its tokens.
        settings: with the length of a summary.
        is_merged: whether summaries are among it.
    """
    most = max(_LEAST_ASKED, int(source * (_OF_SUMMARIES if is_merged else _OF_MESSAGES)))
    return round(WORDS_A_TOKEN * min(settings.summary_length, most))


def _prompt(
    source: str, instructions: str, settings: RunSettings, summarizer: Summarizer, *, facts: bool, rejected: str | None
) -> list[SystemMessage | HumanMessage]:
    words = words_for(estimate_tokens(source), settings, is_merged=instructions != prompts.MESSAGES)
    if summarizer.local:
        words = min(words, local_limit(source, settings.max_summary_chars) // _WORD_CHARS)
    told = (prompts.LOCAL if summarizer.local else instructions).format(words=words)
    told += prompts.STRICT.format(reason=rejected) if rejected else ""
    told += prompts.FACTS if facts and not rejected else ""
    told += prompts.PINS if facts and not rejected and settings.auto_pin_score is not None else ""
    excerpt = prompts.EXCERPT.format(text=source, nonce=secrets.token_hex(4))
    return [SystemMessage(told + prompts.DATA), HumanMessage(excerpt)]


async def _extracted(turns: Turns, settings: RunSettings, covers: Sequence[int] = ()) -> str:
    covered = sum(covers) if PROFILES[settings.profile].longer_summaries else 0
    length = settings.summary_length * (1 + (covered >= _MANY) + (covered >= _MOST))
    text = await asyncio.to_thread(extract, turns, length, covers)
    return beginning(text, settings.max_summary_chars) or NO_WORDS
