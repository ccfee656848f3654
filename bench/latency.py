"""What recall adds to a turn, part by part: `python bench/latency.py [--sizes 1000 10000] [--data FILE] [--json FILE]`.

One user has so many turns of LoCoMo in memory (more than it has are told again). Before each question two messages are
said and embedded, as in a conversation; then the nodes `memory_retrieval` and `pairing` run at default settings, with
the default embedding model. The parts are measured around the product's own functions; the keyword arm runs while the
question is embedded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from datasets import locomo, message
from langchain_core.messages import AnyMessage, HumanMessage
from server_folder import server_folder

from everthread.memory import keywords, recall
from everthread.memory.recall_cache import RecallCache
from everthread.memory.user_memory import UserMemory
from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embedding_models import load_embeddings
from everthread.models.embeddings import Embedder
from everthread.nodes.memory_retrieval import memory_retrieval
from everthread.nodes.pairing import pairing
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.settings.settings import Settings

WARM = 10
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
USER = "ada"
PARTS: dict[str, list[tuple[Any, str]]] = {
    "embedding of the question": [(Embedder, "query")],
    "memory brought up to date": [(RecallCache, "of")],
    "vector arm": [(UserMemory, "near")],
    "keyword arm": [(UserMemory, "counts"), (keywords, "lexical"), (keywords, "_by_words")],
    "neighbours and fusion": [(recall, "_shared"), (recall, "combined"), (recall, "_ranked")],
}


class Clock:
    """Milliseconds by part of the question that is being asked."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.spent[name] += (time.perf_counter() - started) * 1000

    def watch(self, part: str, owner: Any, name: str) -> None:
        """Measure each call of this function."""
        function: Callable[..., Any] = getattr(owner, name)

        async def waited(*given: Any, **named: Any) -> Any:
            with self.part(part):
                return await function(*given, **named)

        def called(*given: Any, **named: Any) -> Any:
            with self.part(part):
                found = function(*given, **named)
                return iter(list(found)) if isinstance(found, Iterator) else found

        setattr(owner, name, waited if asyncio.iscoroutinefunction(function) else called)


async def measure(resources: Resources, clock: Clock, said: list[AnyMessage], questions: list[str]) -> dict[str, Any]:
    turn = Turn(resources, resources.settings.but(user_id=USER), {"configurable": {"thread_id": "asking"}})
    rows: dict[str, list[float]] = defaultdict(list)
    for number, text in enumerate(questions):
        await tell(resources, said[2 * number : 2 * number + 2])
        clock.spent.clear()
        state: Any = {"messages": [HumanMessage(text, id=f"q{number}")]}
        with clock.part("`memory_retrieval`"):
            state |= await memory_retrieval(state, turn)
        with clock.part("`pairing`"):
            await pairing(state, turn)
        for part in (*PARTS, "`memory_retrieval`", "`pairing`"):
            rows[part].append(clock.spent[part])
    return {
        part: [round(float(np.percentile(values[WARM:], share)), 1) for share in (50, 95)]
        for part, values in rows.items()
    }


async def tell(resources: Resources, messages: list[AnyMessage]) -> None:
    """What was said is archived and embedded."""
    for start in range(0, len(messages), 500):
        await resources.of_user(USER).archive.add_messages("told", messages[start : start + 500])
    while await resources.of_user(USER).vectors.embed_pending(timeout=600, limit=256):
        pass


async def run(options: argparse.Namespace, folder: Path) -> dict[int, dict[str, Any]]:
    haystacks = list(locomo(options.data))
    texts = [m.text for h in haystacks for thread in h.threads.values() for m in thread]
    questions = [q.text for h in haystacks for q in h.questions]
    random.Random(5).shuffle(questions)
    model = await asyncio.to_thread(load_embeddings, BUNDLED_MODEL)
    resources = Resources(Settings(data_dir=folder), embeddings=model)
    clock, figures, told = Clock(), {}, 0
    for part, functions in PARTS.items():
        for owner, name in functions:
            clock.watch(part, owner, name)
    for size in options.sizes:
        asked, questions = questions[: options.questions], questions[options.questions :]
        said = [
            message(n, ("user", "assistant")[n % 2], texts[n % len(texts)], BEGIN + timedelta(minutes=17 * n))
            for n in range(told, size + 2 * len(asked))
        ]
        await tell(resources, said[: size - told])
        figures[size] = await measure(resources, clock, said[size - told :], asked)
        told = size + 2 * len(asked)
    await resources.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--questions", type=int, default=110)
    parser.add_argument("--data", type=Path, help="another file of LoCoMo's form")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    with server_folder() as folder:
        figures = asyncio.run(run(options, folder))
    print(f"| p50 / p95, ms | {' | '.join(f'{size:,} messages' for size in figures)} |\n|---|{'---|' * len(figures)}")
    for part in next(iter(figures.values())):
        print(f"| {part} | {' | '.join('{} / {}'.format(*row[part]) for row in figures.values())} |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
