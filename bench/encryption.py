"""What encryption at rest and row-level security cost: `python bench/encryption.py [--size N] [--storage postgres]`.

The same is told to stores side by side: on Postgres one without row-level security, one with it, and one that is
encrypted as well; on SQLite and JSON one as it is and one that is encrypted. Each question is asked of all, in turn:
recall and the exchanges around its hits, after two new messages, and then as a whole turn of the graph. Of five rounds
the fastest counts, so that what else the machine does counts less. The embeddings are numbers without meaning and the
model answers at once: what real ones take, the same in all, would hide the difference.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from datasets import locomo, message
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from server_folder import stop_server

from everthread.facts.read_archive import read_batch
from everthread.graph.conversation import Conversation
from everthread.graph.open import open_graph
from everthread.settings.settings import Settings

WARM = 10
ROUNDS = 5
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
USER = "ada"


class Store:
    """One memory, and what it took to ask it.

    Args:
        name: for the table.
        graph: open.
    """

    def __init__(self, name: str, graph: Conversation) -> None:
        self.name, self.graph = name, graph
        self.asked: list[float] = []
        self.asking: list[float] = []
        self.turns: list[float] = []
        self.processor: list[float] = []
        if name == "without":  # the embedded server's login passes policies by where it takes no other role
            server: Any = graph.resources.database.server  # type: ignore[attr-defined]  # of Postgres alone
            assert server.wall.as_role
            server.wall = server.wall._replace(as_role=False)

    async def tell(self, messages: Sequence[AnyMessage]) -> None:
        """Archive and embed, and read for facts."""
        user = self.graph.resources.of_user(USER)
        await user.archive.add_messages("told", messages)
        while await user.vectors.embed_pending(timeout=600, limit=256):
            pass
        while (await read_batch(user.facts, None))[1]:
            pass

    async def ask(self, question: str) -> tuple[float, float]:
        """Milliseconds of recall, exchanges included, and of the processor (without the server's)."""
        user, began, processor = self.graph.resources.of_user(USER), time.perf_counter(), time.process_time()
        recall = await user.search.find("asking", question, limit=8, threshold=0.9, timeout=60)
        await user.archive.exchanges(recall.hits)
        return (time.perf_counter() - began) * 1000, (time.process_time() - processor) * 1000

    async def turn(self, question: str) -> tuple[float, float]:
        """Milliseconds of a turn, and of the processor (without the server's)."""
        config: Any = {"configurable": {"thread_id": "talk"}}
        began, processor = time.perf_counter(), time.process_time()
        await self.graph.ainvoke(
            {"messages": [("user", question)]}, config, context={"user_id": USER}, output_keys=["report"]
        )
        taken = (time.perf_counter() - began) * 1000, (time.process_time() - processor) * 1000
        await self.graph.asettled()
        return taken


async def run(options: argparse.Namespace, folder: Path) -> list[Store]:
    haystacks = list(locomo(options.data))
    texts = [m.text for haystack in haystacks for thread in haystack.threads.values() for m in thread]
    questions = [question.text for haystack in haystacks for question in haystack.questions]
    random.Random(5).shuffle(questions)
    said = [
        message(n, ("user", "assistant")[n % 2], texts[n % len(texts)], BEGIN + timedelta(minutes=17 * n))
        for n in range(options.size + 2 * ROUNDS * options.questions)
    ]
    names = ["as it is", "encrypted"]
    if options.storage == "postgres":
        names = ["without", "row-level security", "encrypted, too"]
    async with AsyncExitStack() as opened:
        stores = []
        for name in names:
            key = base64.b64encode(os.urandom(32)).decode() if name.startswith("encrypted") else None
            settings = Settings(
                data_dir=folder / name[:3], database_url=options.storage, encryption_key=key, web_search="off",
                summary_model="extractive",
            )  # fmt: skip
            model = GenericFakeChatModel(messages=(AIMessage(f"Noted, {n}.") for n in itertools.count()))
            embeddings = DeterministicFakeEmbedding(size=384)
            graph: Any = await opened.enter_async_context(open_graph(settings, model=model, embeddings=embeddings))
            stores.append(Store(name, graph))
        for start in range(0, options.size, 500):
            for store in stores:
                await store.tell(said[start : min(start + 500, options.size)])
        for number, question in enumerate(questions[: options.questions]):
            rounds: dict[str, list[tuple[float, ...]]] = {store.name: [] for store in stores}
            for turn in range(ROUNDS):
                at = options.size + 2 * (ROUNDS * number + turn)
                first = (number + turn) % len(stores)
                for store in (*stores[first:], *stores[:first]):
                    await store.tell(said[at : at + 2])
                    rounds[store.name].append((*await store.ask(question), *await store.turn(question)))
            for store in stores if number >= WARM else ():
                best = [min(column) for column in zip(*rounds[store.name], strict=True)]
                for kept, taken in zip((store.asked, store.asking, store.turns, store.processor), best, strict=True):
                    kept.append(taken)
    return stores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=110)
    parser.add_argument("--storage", default="postgres", choices=("postgres", "sqlite", "json"))
    parser.add_argument("--data", type=Path, help="another file of LoCoMo's form")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        try:
            stores = asyncio.run(run(options, Path(name)))
        finally:
            for folder in Path(name).iterdir():
                stop_server(folder)
    print(f"| {options.storage}, {options.size:,} messages | {' | '.join(store.name for store in stores)} |")
    print(f"|---|{'---|' * len(stores)}")
    for what, share in itertools.product(NAMES, (50, 95)):
        figures = [float(np.percentile(getattr(store, what), share)) for store in stores]
        cells = [f"{ms:.1f}" + (f" ({ms / before:.2f})" if before else "") for ms, before in
                 zip(figures, [0.0, *figures], strict=False)]  # fmt: skip
        print(f"| {NAMES[what]} p{share}, ms (times the one before) | {' | '.join(cells)} |")


NAMES = {"asked": "recall", "asking": "processor of recall", "turns": "turn", "processor": "processor of a turn"}


if __name__ == "__main__":
    main()
