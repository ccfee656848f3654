"""A real small language model as summarizer: how often its summaries are rejected, why, and that nothing is lost."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from bench.datasets import Haystack
from bench.stress import below
from everthread.compression.engine import compress, next_batch, outdated_ids
from everthread.compression.writing import Summarizer, write_summary
from everthread.models.chat import chat_model
from everthread.state.messages import is_empty, live_chain
from everthread.state.settings import Settings

_NUMBER = re.compile(r"\d+%?")


async def small_summaries(
    haystacks: Iterable[Haystack], batches: int, *, profile: str = "multi_strategy", model: str = "smollm2"
) -> dict[str, Any]:
    """How the summaries of the first batches of each conversation ended.

    Args:
        haystacks: conversations.
        batches: summaries for each conversation.
        profile: whose batches these are.
        model: the summarizer, as a setting names it.
    """
    summarizer = Summarizer(chat_model(model), {}, timeout=120)
    settings = Settings(profile=profile)
    reasons: Counter[str] = Counter()
    calls = lost = 0
    started = time.perf_counter()
    for haystack in haystacks:
        chain: list[AnyMessage] = []
        sources: dict[str, tuple[str, ...]] = {}
        said = _said(haystack)
        told: list[AnyMessage] = []
        for exchange in zip(said[::2], said[1::2], strict=False):
            told += exchange
            chain += exchange
            outdated = set(outdated_ids(chain, settings))
            chain = [message for message in chain if message.id not in outdated]
            while batch := next_batch(chain, settings):
                written = await write_summary(batch, settings, thread_id="t", summarizer=summarizer)
                calls += 1
                reasons[_NUMBER.sub("N", written.summary.rejected or "accepted")] += 1
                sources[written.summary.id] = written.summary.source_ids
                chain = compress(chain, batch, written.summary)
            if len(sources) >= batches:
                break
        reached = below([str(message.id) for message in live_chain(chain)], sources)
        lost += sum(str(message.id) not in reached for message in told if not is_empty(message))
    seconds = time.perf_counter() - started
    return {"summaries": calls, "outcomes": dict(reasons.most_common()), "messages lost": lost, "seconds": seconds}


def _said(haystack: Haystack) -> list[AnyMessage]:
    """The messages with roles in turn: every second one is a reply, whoever said it."""
    messages = next(iter(haystack.threads.values()))
    return [
        (HumanMessage, AIMessage)[place % 2](message.text, id=message.id, name=message.name)
        for place, message in enumerate(messages)
    ]
