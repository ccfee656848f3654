"""What facts cost in a prompt, and how many of them bear on the question: through the nodes, without a model."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import fmean

from langchain_core.messages import HumanMessage

from bench.datasets import SETS
from everthread.facts.read_archive import read_batch
from everthread.runtime.facts import known_facts
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.settings.settings import Settings
from everthread.text.tokens import estimate_tokens

REMARKS = 25
"""Ordinary remarks of each conversation that are asked beside its questions: every n-th of the user's."""


async def prompt_tokens(source: str = "locomo", data: Path | None = None) -> dict[str, float]:
    """Tokens of the facts and pins of a prompt, on average: of questions of a set, and of the user's own remarks."""
    asked: list[int] = []
    remarked: list[int] = []
    for haystack in SETS[source](data):
        said = next(iter(haystack.threads.values()))
        own = [message.text for message in said if message.type == "human"]
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(data_dir=Path(folder), database_url="sqlite", user_id="bench")
            resources = Resources(settings)
            turn = Turn(resources, settings, {"configurable": {"thread_id": "one"}})
            try:
                await turn.user.archive.add_messages("one", said)
                while (await read_batch(turn.user.facts, settings.auto_pin_score))[1]:
                    pass
                asked += [await _tokens(question.text, turn) for question in haystack.questions]
                remarked += [await _tokens(text, turn) for text in own[:: max(1, len(own) // REMARKS)]]
            finally:
                await resources.close()
    return {"questions": fmean(asked), "remarks": fmean(remarked), "all": fmean(asked + remarked)}


async def _tokens(text: str, turn: Turn) -> int:
    sheet = await known_facts({"messages": [HumanMessage(text, id="q")]}, turn)
    return sum(estimate_tokens(f"- {line}\n") for line in sheet.lines)
