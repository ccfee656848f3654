"""A real small language model as summarizer: how often its summaries are rejected, why, and that nothing is lost."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from bench.compressed import Compressed
from bench.datasets import Haystack
from everthread.compression.summarizer import Summarizer
from everthread.models.chat import chat_model
from everthread.settings.settings import Settings
from everthread.state.messages import is_empty

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
        thread = Compressed(settings, summarizer)
        said = _said(haystack)
        told: list[AnyMessage] = []
        for exchange in zip(said[::2], said[1::2], strict=False):
            told += exchange
            thread.take(*exchange)
            for written in await thread.settle():
                calls += 1
                reasons[_NUMBER.sub("N", written.summary.rejected or "accepted")] += 1
            if len(thread.made) >= batches:
                break
        reached = thread.reached()
        lost += sum(str(message.id) not in reached for message in told if not is_empty(message))
    seconds = time.perf_counter() - started
    return {"summaries": calls, "outcomes": dict(reasons.most_common()), "messages lost": lost, "seconds": seconds}


def _said(haystack: Haystack) -> list[AnyMessage]:
    """The messages with roles in turn: every second one is a reply, whoever said it."""
    messages = next(iter(haystack.threads.values()))
    return [
        (HumanMessage, AIMessage)[index % 2](message.text, id=message.id, name=message.name)
        for index, message in enumerate(messages)
    ]
