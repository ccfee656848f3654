"""Odd conversations through every profile: nothing is lost, and no prompt is invalid."""

from __future__ import annotations

import pytest
from odd_conversations import conversations

from bench.stress import through
from everthread.settings.settings import Settings


@pytest.mark.parametrize("profile", ["multi_strategy", "sliding_summary", "hybrid", "archive", "layered"])
@pytest.mark.slow
async def test_odd_conversations_lose_nothing_and_no_prompt_is_invalid(profile: str) -> None:
    for name, messages in conversations():
        counts = await through(messages, Settings(profile=profile))
        assert counts["messages"] == len(messages)
        assert {fault: n for fault, n in counts.items() if fault.startswith("fault") and n} == {}, name
