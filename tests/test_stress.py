"""A sample of real odd conversations through every profile: nothing is lost, and no prompt is invalid."""

import importlib
import sys
from pathlib import Path

import pytest

from everthread.settings.settings import Settings

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT.parent / "shared" / "data" / "stress" / "stress_conversations.jsonl"
EVERY = 5
"""Each conversation of so many is in the sample; a profile takes another one each."""

sys.path.append(str(ROOT))
stress = importlib.import_module("bench.stress")


@pytest.mark.skipif(not FILE.exists(), reason="the data is not here")
@pytest.mark.parametrize(
    ("start", "profile"), [*enumerate(["multi_strategy", "sliding_summary", "hybrid", "archive", "layered"])]
)
async def test_odd_conversations_lose_nothing_and_no_prompt_is_invalid(start: int, profile: str) -> None:
    settings = Settings(profile=profile)
    chosen = list(stress.conversations(FILE))[start::EVERY]
    for id_, messages in chosen:
        counts = await stress.through(messages, settings)
        assert counts["messages"] == len(messages)
        assert {name: n for name, n in counts.items() if name.startswith("fault") and n} == {}, id_
    assert len(chosen) == 38
