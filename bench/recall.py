"""Recall without a language model: `python bench/recall.py [--set locomo] [--peers] [--keep FOLDER] ...`.

The figures come through the product's own nodes, `memory_retrieval` and `pairing`, on Postgres. Beside them, in the
same run and with the same vectors, is vector search alone, and with `--peers` what of `peers.py` is installed. For
each question: the share of its evidence among the first 5 and 10 messages found, and within 1,000 and 1,500 tokens of
found text in the order of rank; and whether any of it is among at most 12 messages of the memories that pairing
returns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from datasets import SETS, Haystack, Question
from kept_vectors import KeptVectors
from langchain_core.messages import HumanMessage
from peers import Peer, open_peers
from server_folder import server_folder

from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embeddings import Embedder
from everthread.models.shared_embeddings import SharedEmbeddings
from everthread.nodes.memory_retrieval import memory_retrieval
from everthread.nodes.pairing import pairing
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.settings.settings import Settings
from everthread.storage.embedded.server import ensure_server
from everthread.text.tokens import estimate_tokens

MEASURES = ("share @5", "share @10", "in 1,000 tokens", "in 1,500 tokens", "any of 12")
MEMORIES = 40


def measures(ranked: Sequence[str], tokens: dict[str, int], question: Question, returned: Sequence[str]) -> list[float]:
    def share(ids: Sequence[str]) -> float:
        return len(question.evidence & set(ids)) / len(question.evidence)

    def within(budget: int) -> list[str]:
        kept = []
        for id_ in ranked:
            budget -= tokens[id_]
            if budget < 0:
                break
            kept.append(id_)
        return kept

    return [
        share(ranked[:5]), share(ranked[:10]), share(within(1000)), share(within(1500)),
        float(bool(question.evidence & set(returned[:12]))),
    ]  # fmt: skip


async def fill(resources: Resources, haystack: Haystack) -> dict[str, int]:
    tokens = {}
    for thread, messages in haystack.threads.items():
        await resources.of_user(haystack.name).archive.add_messages(f"{haystack.name}/{thread}", messages)
        tokens |= {str(m.id): estimate_tokens(m.text) + 4 for m in messages}
    while await resources.of_user(haystack.name).vectors.embed_pending(timeout=600, limit=256):
        pass
    return tokens


async def ask(
    resources: Resources, haystack: Haystack, tokens: dict[str, int], peers: Sequence[Peer]
) -> dict[str, list[Any]]:
    settings = resources.settings.but(user_id=haystack.name, max_memories=MEMORIES)
    turn = Turn(resources, settings, {"configurable": {"thread_id": f"{haystack.name}/asking"}})
    rows: dict[str, list[Any]] = defaultdict(list)
    for question in haystack.questions:
        started = time.perf_counter()
        state: Any = {"messages": [HumanMessage(question.text, id="q")]}
        state |= await memory_retrieval(state, turn)
        found = time.perf_counter()
        state |= await pairing(state, turn)
        rows["search ms"].append((found - started) * 1000)
        rows["pairing ms"].append((time.perf_counter() - found) * 1000)
        ranked = [hit.source_id for hit in state["recall"].hits]
        returned = [f.id for memory in state["recall"].memories for f in memory.fragments]
        near = await resources.of_user(haystack.name).search.nearest(question.text, limit=MEMORIES * 3, timeout=60)
        by_vector = [source.source_id for source in near]
        rows["everthread"].append(measures(ranked, tokens, question, returned))
        rows["vector only"].append(measures(by_vector, tokens, question, by_vector))
        for peer in peers:
            ids = await peer.search(haystack.name, question.text, MEMORIES * 3)
            rows[peer.name].append(measures(ids, tokens, question, ids))
        rows["told"].append(float(not question.evidence.isdisjoint(returned)))
        rows["silent"].append(float(not returned))
        rows["category"].append(question.category)
    return rows


async def run(
    name: str, data: Path | None, folder: Path, keep: Path | None, model: str, *, with_peers: bool
) -> dict[str, list[Any]]:
    kept = KeptVectors(keep / "vectors.db", model) if keep else model
    resources = Resources(Settings(data_dir=folder), embeddings=kept)
    peers: list[Peer] = []
    if with_peers:
        shared = SharedEmbeddings(Embedder(BUNDLED_MODEL, cache_bytes=200_000_000), timeout=600)
        peers = await open_peers(await asyncio.to_thread(ensure_server, folder), shared)
    rows: dict[str, list[Any]] = defaultdict(list)
    for haystack in SETS[name](data):
        tokens = await fill(resources, haystack)
        for peer in peers:
            for messages in haystack.threads.values():
                await peer.add(haystack.name, messages)
        for key, values in (await ask(resources, haystack, tokens, peers)).items():
            rows[key] += values
    for peer in peers:
        await peer.close()
    await resources.close()
    return rows


def table(name: str, rows: dict[str, list[Any]]) -> dict[str, Any]:
    figures: dict[str, Any] = {"questions": len(rows["category"])}
    print(f"\n{name}, {figures['questions']} questions\n| | {' | '.join(MEASURES)} |\n|---|{'---|' * len(MEASURES)}")
    for system in (key for key, values in rows.items() if isinstance(values[0], list)):
        values = [round(100 * mean(column), 1) for column in zip(*rows[system], strict=True)]
        figures[system] = dict(zip(MEASURES, values, strict=True))
        print(f"| {system} | {' | '.join(map(str, values))} |")
    for category in sorted(set(rows["category"])):
        own = [row for row, c in zip(rows["everthread"], rows["category"], strict=True) if c == category]
        values = [round(100 * mean(column), 1) for column in zip(*own, strict=True)]
        figures[f"everthread: {category}"] = dict(zip(MEASURES, values, strict=True))
        print(f"| everthread: {category} ({len(own)}) | {' | '.join(map(str, values))} |")
    for part in ("search ms", "pairing ms"):
        figures[part] = round(median(rows[part]), 1)
        print(f"{part}, median: {figures[part]}")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=[*SETS, "all"], default="locomo")
    parser.add_argument("--peers", action="store_true", help="beside it, what other memories find that are installed")
    parser.add_argument("--data", type=Path, help="another file (or folder) of the same form")
    parser.add_argument("--keep", type=Path, help="where vectors stay for the next run, whose times then tell nothing")
    parser.add_argument("--model", default=BUNDLED_MODEL, help="an embedding model, as the settings name it")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    figures = {}
    with server_folder() as folder:
        for name in SETS if options.set == "all" else [options.set]:
            rows = asyncio.run(run(name, options.data, folder, options.keep, options.model, with_peers=options.peers))
            figures[name] = table(name, rows)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
