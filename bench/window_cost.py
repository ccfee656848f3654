"""What compression costs: calls of the summarizer and its tokens, for each profile and beside it for two peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.compressed import Compressed
from bench.counting import CountingSummarizer
from bench.driving import PROFILE_NAMES, Exchange
from bench.window_peers import peers
from everthread.compression.summarizer import Summarizer
from everthread.settings.settings import Settings

BUDGETS = (3000, 6976)
"""Tokens of a prompt at which the peers summarize; they have no default."""


async def costs(said: Sequence[Exchange]) -> dict[str, dict[str, float]]:
    """Calls and tokens per 100 turns, by profile and peer."""
    table = {profile: _row(await _profile(said, Settings(profile=profile)), len(said)) for profile in PROFILE_NAMES}
    for name, make in peers():
        for budget in BUDGETS:
            summarizer = CountingSummarizer()
            window = make(summarizer, budget)
            new: list[Any] = []
            for exchange in said:
                await window.before([*new, exchange.user])
                new = [exchange.reply]
            table[f"{name}, {budget:,} tokens"] = _row(summarizer, len(said))
    return table


async def _profile(said: Sequence[Exchange], settings: Settings) -> CountingSummarizer:
    model = CountingSummarizer()
    summarizer = Summarizer(model, {}, timeout=60)
    thread = Compressed(settings, summarizer)
    for exchange in said:
        thread.take(exchange.user, exchange.reply)
        for written in await thread.settle_later():
            model.rejected += written.summary.rejected is not None
    return model


def _row(model: CountingSummarizer, turns: int) -> dict[str, float]:
    each = 100 / turns
    return {
        "calls": model.calls * each,
        "tokens in": model.tokens_in * each,
        "tokens out": model.tokens_out * each,
        "not accepted": model.rejected * each,
    }
