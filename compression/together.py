"""Several summaries in one call: those that are due, and those that are due once these are there.

What is repeated in each call is the instructions, and in a higher summary the texts of the ones below it. So a model
is asked once there is enough to ask for; until then the prompt holds the messages themselves.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from ..models.chat import model_name
from ..prompts import summarize as prompts
from ..settings.run import RunSettings
from ..state.chain import SummaryMessage, is_summary
from ..state.messages import content_text
from ..state.records import Summary
from ..text.tokens import count_message_tokens
from .acceptance import text_hash, why_rejected
from .chain import Batch
from .drafts import FactDraft, read_drafts
from .source import holds_messages, holds_summaries, source_text, turns_of
from .summarizer import Summarizer, failed, reply_to
from .writing import WORDS_A_TOKEN, Written, coherence_of, summary_with, words_for, write_summary

logger = logging.getLogger(__name__)

LEAST_MESSAGES: Final = 16
"""Messages that are to be summarized before a model is asked, where the profile summarizes fewer at once."""

LARGE_SHARE: Final = 8
"""They may be fewer where they are large: more than one part in so many of the prompt."""

_FACTS: Final = 200
"""Tokens of a reply that are kept for facts."""


def is_worth_a_call(plan: Sequence[Batch], settings: RunSettings) -> bool:
    """Whether a model is asked for what is due now, or more is waited for.

    Args:
        plan: what is due: see `ends.planned`.
        settings: those of the thread.
    """
    new = [message for batch in plan for message in batch.sources if not is_summary(message)]
    return len(new) >= LEAST_MESSAGES or count_message_tokens(new) * LARGE_SHARE > settings.max_context_tokens


async def write_due(
    plan: Sequence[Batch],
    settings: RunSettings,
    *,
    thread_id: str,
    summarizer: Summarizer | None,
    standing: Collection[str] = (),
) -> list[Written]:
    """The first summaries of a plan: as many as go into one call, or one.

    Args:
        plan: what is due, at least one; a source that is a summary without a text is one of the plan.
        settings: lengths, and whether the extractive summarizer serves where the model fails.
        thread_id: the thread, which is part of the ids.
        summarizer: the model; None for the extractive summarizer.
        standing: hashes of the summaries that stand in the chain.

    Raises:
        ModelError: the model failed, and `summary_fallback` is off.
    """
    group = [] if summarizer is None else _group(plan, settings, summarizer)
    if summarizer is not None and len(group) > 1:
        written = await _together(group, settings, thread_id, summarizer, set(standing))
        if written:
            return written
    one = await write_summary(plan[0], settings, thread_id=thread_id, summarizer=summarizer, standing=standing)
    return [one]


def _group(plan: Sequence[Batch], settings: RunSettings, summarizer: Summarizer) -> list[Batch]:
    """The batches that go into one call: as many as its window has room for, and its reply."""
    if summarizer.local or summarizer.alone or summarizer.down:
        return []
    reply = settings.max_reply_tokens - _FACTS
    room = summarizer.room(settings) - reply
    group: list[Batch] = []
    for batch in plan:
        room -= count_message_tokens(batch.sources)
        reply -= round(_asked_for(batch, settings) / WORDS_A_TOKEN)
        if room < 0 or (reply < 0 and group):
            break
        group.append(batch)
    return group


def _asked_for(batch: Batch, settings: RunSettings) -> int:
    """Words that a model is asked for; a source that is made in the same call is taken for as long as it may be."""
    unmade = sum(is_summary(message) and not content_text(message.content) for message in batch.sources)
    source = count_message_tokens(batch.sources) + unmade * settings.summary_length
    return words_for(source, settings, is_merged=holds_summaries(batch.sources))


async def _together(
    group: Sequence[Batch], settings: RunSettings, thread_id: str, summarizer: Summarizer, standing: set[str]
) -> list[Written]:
    """The summaries of a group; none where the reply cannot be read."""
    try:
        reply = await reply_to(_prompt(group, settings, thread_id), summarizer, settings.max_reply_tokens)
    except Exception as error:  # a provider may raise anything
        down = replace(summarizer, down=failed(error, summarizer, settings))
        return [await write_summary(group[0], settings, thread_id=thread_id, summarizer=down)]
    found = read_drafts(content_text(reply.content))
    if found is None:
        logger.info("Summaries were not given as asked for: they are asked for one by one.")
        return []
    texts, facts = found
    made: dict[str, Summary] = {}
    written: list[Written] = []
    for batch, text in zip(group, [*texts, *[""] * len(group)], strict=False):
        whole = with_texts(batch, made)
        one = await _checked(whole, text, settings, thread_id=thread_id, summarizer=summarizer, standing=standing)
        made[one.summary.id] = one.summary
        standing.add(text_hash(one.summary.content))
        written.append(one)
    return _with_facts(group, written, facts)


async def _checked(
    batch: Batch, text: str, settings: RunSettings, *, thread_id: str, summarizer: Summarizer, standing: set[str]
) -> Written:
    """The summary with this text; where it is not accepted, the model is asked for this one alone, once."""
    source = source_text(turns_of(batch.sources))
    reason = await asyncio.to_thread(
        why_rejected, text, source, max_chars=settings.max_summary_chars, local=False, standing=standing
    )
    if reason is None:
        made = summary_with(batch, text, thread_id=thread_id, model=model_name(summarizer.model))
        return Written(made, coherence=await coherence_of(made, source))
    logger.warning("A summary of %d characters was not accepted: %s.", len(text), reason)
    return await write_summary(
        batch, settings, thread_id=thread_id, summarizer=summarizer, standing=standing, rejected=reason
    )


def _with_facts(group: Sequence[Batch], written: list[Written], facts: tuple[FactDraft, ...]) -> list[Written]:
    """The facts with each summary of messages: of them those are kept that its messages say."""
    return [
        one._replace(facts=(*one.facts, *facts)) if facts and holds_messages(batch.sources) else one
        for batch, one in zip(group, written, strict=True)
    ]


def with_texts(batch: Batch, made: Mapping[str, Summary]) -> Batch:
    """The batch with the texts of those of its sources that were made with it."""
    sources: list[AnyMessage] = [
        SummaryMessage.of(made[str(message.id)]) if message.id in made else message for message in batch.sources
    ]
    return batch._replace(sources=tuple(sources))


def _prompt(group: Sequence[Batch], settings: RunSettings, thread_id: str) -> list[SystemMessage | HumanMessage]:
    nonce, lines, numbers = secrets.token_hex(3), list[str](), dict[str, int]()
    for number, batch in enumerate(group, 1):
        named = [
            SummaryMessage(content=f"(summary {numbers[id_]})", id=id_, record=message.record)
            if isinstance(message, SummaryMessage) and (id_ := str(message.id)) in numbers
            else message
            for message in batch.sources
        ]
        mark = prompts.PART.format(number=number, nonce=nonce, words=_asked_for(batch, settings))
        lines += [mark, source_text(turns_of(named))]
        numbers[Summary.id_for(thread_id, batch.level, batch.source_ids)] = number
    told = prompts.TOGETHER + prompts.TOGETHER_FORM + prompts.DATA
    return [SystemMessage(told), HumanMessage(prompts.EXCERPT.format(text="\n".join(lines), nonce=nonce))]
