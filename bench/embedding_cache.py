"""What the cache of embeddings saves: `python -m bench.embedding_cache [--turns 30] [--json FILE]`.

The same conversation, turn by turn through the product's graph on embedded Postgres with the bundled model, once
without the cache and once with it: texts that went through the model, and milliseconds of a turn with what follows it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from bench.server_folder import server_folder
from everthread import Settings, open_graph
from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embedding_models import load_embeddings
from everthread.runtime import resources

SUBJECTS = ("heating", "accordion", "whales", "locker", "tomatoes", "bus", "kayak", "lighthouse", "budget", "soup")


class Counting(Embeddings):
    def __init__(self, model: Embeddings) -> None:
        self.model, self.model_name, self.texts, self.milliseconds = model, BUNDLED_MODEL, 0, 0.0

    def embed_query(self, text: str) -> list[float]:
        return self.timed(1, lambda: self.model.embed_query(text))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.timed(len(texts), lambda: self.model.embed_documents(texts))

    def timed(self, number: int, work: Any) -> Any:
        started = time.perf_counter()
        try:
            return work()
        finally:
            self.texts += number
            self.milliseconds += 1000 * (time.perf_counter() - started)


async def talk(folder: Path, model: Embeddings, turns: int, *, cached: bool) -> dict[str, float]:
    counting = Counting(model)
    replies = GenericFakeChatModel(messages=(AIMessage(f"I see, that is remark {n}.") for n in range(10**6)))
    schema = f"cache_{cached}".lower()
    milliseconds = []
    with patch.object(resources, "EMBEDDINGS_SHARE", resources.EMBEDDINGS_SHARE if cached else 10**12):
        settings = Settings(data_dir=folder, database_schema=schema, web_search="off", summary_model="extractive")
        opened = open_graph(settings, model=replies, embeddings=counting)
    async with opened as graph:
        for n in range(turns):
            text = (
                f"My {SUBJECTS[n % 10]} was on my mind again on day {n}; what did I say about the {SUBJECTS[-n % 10]}?"
            )
            started = time.perf_counter()
            await graph.ainvoke({"messages": [("user", text)]}, {"configurable": {"thread_id": "t"}})
            await graph.asettled()
            milliseconds.append(1000 * (time.perf_counter() - started))
    return {
        "texts a turn": round(counting.texts / turns, 2),
        "model ms a turn": round(counting.milliseconds / turns, 1),
        "turn ms, median": round(median(milliseconds), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    model = load_embeddings(BUNDLED_MODEL)
    model.embed_query("warm")
    figures = {}
    with server_folder() as folder:
        for name, cached in (("without the cache", False), ("with it", True)):
            figures[name] = asyncio.run(talk(folder, model, options.turns, cached=cached))
    columns = list(next(iter(figures.values())))
    print(f"| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name, row in figures.items():
        print(f"| {name} | {' | '.join(map(str, row.values()))} |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
