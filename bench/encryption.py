"""What encryption at rest costs: `python bench/encryption.py [--size 10000] [--questions 200] [--storage postgres]`.

The same is told to two stores, one of them encrypted, and each question is asked of both, one after the other in turn:
recall and the exchanges around its hits, after two new messages. Of three rounds the fastest counts, so that what else
the machine does counts less. The embeddings are numbers without meaning that cost nothing: what a model takes, the same
in both, would hide the difference.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from datasets import locomo, message
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AnyMessage
from server_folder import stop_server

from everthread.runtime.resources import Resources
from everthread.settings.settings import Settings

WARM = 20
ROUNDS = 3
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
USER = "ada"


async def tell(resources: Resources, messages: Sequence[AnyMessage]) -> None:
    """Archive and embed."""
    user = resources.of_user(USER)
    await user.archive.add_messages("told", messages)
    while await user.vectors.embed_pending(timeout=600, limit=256):
        pass


async def ask(resources: Resources, question: str) -> float:
    """Milliseconds of recall, exchanges included."""
    user, began = resources.of_user(USER), time.perf_counter()
    recall = await user.search.find("asking", question, limit=8, threshold=0.9, timeout=60)
    await user.archive.exchanges(recall.hits)
    return (time.perf_counter() - began) * 1000


async def run(options: argparse.Namespace, folders: Sequence[Path]) -> None:
    haystacks = list(locomo(options.data))
    texts = [m.text for haystack in haystacks for thread in haystack.threads.values() for m in thread]
    questions = [question.text for haystack in haystacks for question in haystack.questions]
    random.Random(5).shuffle(questions)
    total = options.size + 2 * ROUNDS * options.questions
    said = [
        message(n, ("user", "assistant")[n % 2], texts[n % len(texts)], BEGIN + timedelta(minutes=17 * n))
        for n in range(total)
    ]
    keys = (None, base64.b64encode(os.urandom(32)).decode())
    stores = [
        Resources(
            Settings(data_dir=folder, database_url=options.storage, encryption_key=key),
            embeddings=DeterministicFakeEmbedding(size=384),
        )
        for folder, key in zip(folders, keys, strict=True)
    ]
    for start in range(0, options.size, 500):
        for store in stores:
            await tell(store, said[start : min(start + 500, options.size)])
    cold = [await ask(store, questions[0]) for store in stores]
    asked: list[list[float]] = [[], []]
    for number, question in enumerate(questions[: options.questions]):
        rounds: list[list[float]] = [[], []]
        for turn in range(ROUNDS):
            at = options.size + 2 * (ROUNDS * number + turn)
            for one in (0, 1) if (number + turn) % 2 else (1, 0):
                await tell(stores[one], said[at : at + 2])
                rounds[one].append(await ask(stores[one], question))
        for one in (0, 1):
            asked[one].append(min(rounds[one]))
    for store in stores:
        await store.close()
    rows = [
        ("first recall of the process, ms", *cold),
        *((f"recall p{share}, ms", *(float(np.percentile(of[WARM:], share)) for of in asked)) for share in (50, 95)),
    ]
    print(f"| {options.storage}, {options.size:,} messages | plain | encrypted | ratio |\n|---|---|---|---|")
    for name, plain, sealed in rows:
        print(f"| {name} | {plain:.2f} | {sealed:.2f} | {sealed / plain:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--storage", default="postgres", choices=("postgres", "sqlite", "json"))
    parser.add_argument("--data", type=Path, help="another file of LoCoMo's form")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        folders = [Path(name) / kind for kind in ("plain", "encrypted")]
        try:
            asyncio.run(run(options, folders))
        finally:
            for folder in folders:
                stop_server(folder)


if __name__ == "__main__":
    main()
