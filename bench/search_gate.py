"""When the web is searched: `python bench/search_gate.py [--data FOLDER] [--json FILE] [--vectors FILE] [--train]`.

Precision, recall and F1 of the keywords alone, the local router alone, and keywords then router, on the clear labels of
`search_need`, by language and source; and the share of ordinary chat turns that trigger a search. Keywords go through
the node's `read_words`. The router is held out: of sources that it is trained on, by five folds that keep alike
questions together (the intents of CLINC150, and questions with a cosine of 0.8 or more); other sources were never
trained on. The questions of `router_questions.txt` were written for the training and are in no figure; what is close to
one of them shares its fold. `--random-folds` drops the grouping: other questions of known intents. `--train` writes the
weights from all items whose licence allows it to search/router/model.json.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.messages import HumanMessage

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.datasets import DATA
from bench.router_training import CHAT, LICENCES, OWN, Item, Trainer, own_questions
from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embedding_models import load_embeddings
from everthread.nodes.keyword_check import read_words
from everthread.search.router.keywords import KeywordReading, read_question
from everthread.search.router.model import WEIGHTS, LocalRouter
from everthread.settings.settings import Settings

TASKS = ("mt_bench", "mt_bench_ja", "vicuna_bench")
FOLDS = 5


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def load(data: Path) -> list[Item]:
    items = [
        Item(
            row["query"],
            row["needs_search"],
            row["borderline"],
            row["lang"],
            row["source"],
            row["label_basis"] if row["source"] == "clinc150" else row["id"],
        )
        for row in rows(data / "search_need/search_need_dev.jsonl")
    ]

    def chat(source: str, language: str, texts: Iterable[str]) -> None:
        items.extend(
            Item(t, False, False, language, source, f"{source} {n}") for n, t in enumerate(dict.fromkeys(texts))
        )

    for talk in json.loads((data / "locomo/locomo_dev7.json").read_text(encoding="utf-8")):
        for name, turns in talk["conversation"].items():
            if name.startswith("session_") and isinstance(turns, list):
                items.extend(Item(t["text"], False, False, "en", "locomo", talk["sample_id"]) for t in turns)
    evidence = rows(data / "longmemeval/longmemeval_evidence_dev.jsonl")
    chat(
        "longmemeval turns", "en", (t["content"] for r in evidence for s in r["evidence_sessions"] for t in s["turns"])
    )
    for language in ("en", "zh"):
        users = rows(data / f"memorybank/memorybank_{language}.jsonl")
        chat("memorybank", language, (t["user"] for user in users for day in user["days"] for t in day["turns"]))
    for row in rows(data / "fact_extraction/xpersona_7lang.jsonl"):
        items.extend(Item(m["text"], False, False, row["lang"], "xpersona", row["id"]) for m in row["messages"])
    return [*items, *own_questions()]


def embed(items: Sequence[Item], kept: Path | None) -> np.ndarray:
    """The vectors of the items by the bundled model; `kept` is a file of those made before."""
    known: dict[str, np.ndarray] = {}
    if kept and kept.exists():
        with np.load(kept) as file:
            known = dict(zip(file["keys"].tolist(), file["vectors"], strict=True))
    keys = [hashlib.sha256(item.text.encode()).hexdigest()[:24] for item in items]
    missing = {key: item.text for key, item in zip(keys, items, strict=True) if key not in known}
    if missing:
        vectors = load_embeddings(BUNDLED_MODEL).embed_documents([text or " " for text in missing.values()])
        known.update(zip(missing, np.asarray(vectors, dtype=np.float32), strict=True))
    if kept and missing:
        np.savez(kept, keys=np.array(list(known)), vectors=np.array(list(known.values()), dtype=np.float32))
    return np.array([known[key] for key in keys], dtype=np.float32)


def folds(items: Sequence[Item], vectors: np.ndarray, apart: bool) -> np.ndarray:
    """A fold for each item; alike questions are in the same, unless they may be `apart`."""
    if apart:
        return np.random.default_rng(0).integers(0, FOLDS, len(items))
    parent = list(range(len(items)))

    def root(n: int) -> int:
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    first: dict[tuple[str, str], int] = {}
    for n, item in enumerate(items):
        parent[root(n)] = root(first.setdefault((item.source, item.group), n))
    asked = [n for n, item in enumerate(items) if item.source in LICENCES and item.source not in CHAT]
    own = vectors[asked]
    for a, b in np.argwhere(np.triu(own @ own.T >= 0.8, 1)):
        parent[root(asked[a])] = root(asked[b])
    return np.array([int(hashlib.sha256(str(root(n)).encode()).hexdigest(), 16) % FOLDS for n in range(len(items))])


def held_out(
    items: Sequence[Item], readings: Sequence[KeywordReading], vectors: np.ndarray, trainer: Trainer, fold: np.ndarray
) -> np.ndarray:
    """Whether the router, with and without embeddings, asks for a search, each item unseen in training."""
    everything = LocalRouter(trainer.data(np.ones(len(items), dtype=bool)))
    routers = [LocalRouter(trainer.data(fold != k)) for k in range(FOLDS)]
    found = np.zeros((2, len(items)), dtype=bool)
    for n, (item, reading) in enumerate(zip(items, readings, strict=True)):
        router = routers[fold[n]] if item.source in LICENCES else everything
        found[0, n] = router.judge(item.text, reading, vectors[n].tolist()).needed
        found[1, n] = router.judge(item.text, reading).needed
    return found


async def by_words(items: Sequence[Item]) -> list[bool | None]:
    settings = Settings()
    return [(await read_words({"messages": [HumanMessage(item.text)]}, settings)).needed for item in items]  # type: ignore[typeddict-item]


def figures(needed: np.ndarray, found: np.ndarray) -> dict[str, float]:
    hits = int((needed & found).sum())
    asked, truth = int(found.sum()), int(needed.sum())
    return {
        "items": len(needed),
        "precision": hits / asked if asked else 0.0,
        "recall": hits / truth if truth else 0.0,
        "f1": 2 * hits / (asked + truth) if asked + truth else 1.0,
        "triggered": asked / len(needed) if len(needed) else 0.0,
    }


def table(title: str, names: Iterable[str], of: Callable[[str], np.ndarray], needed: Any, ways: dict[str, Any]) -> Any:
    print(f"\n| {title} | items | needed | {' | '.join(f'{way}: P / R / F1' for way in ways)} |")
    print("|---" * (3 + len(ways)) + "|")
    result = {}
    for name in names:
        mask = of(name)
        each = {way: figures(needed[mask], found[mask]) for way, found in ways.items()}
        positive = int(needed[mask].sum())
        cells = [
            f"{f['precision']:.2f} / {f['recall']:.2f} / {f['f1']:.3f}"
            if positive
            else f"triggered {f['triggered']:.1%}"
            for f in each.values()
        ]
        print(f"| {name} | {int(mask.sum())} | {positive} | {' | '.join(cells)} |")
        result[name] = each
    return result


def train(trainer: Trainer, items: Sequence[Item]) -> None:
    """Write the shipped weights, with where they come from."""
    data = trainer.data(np.ones(len(items), dtype=bool))
    counts = Counter(item.source for item in items)
    provenance = {
        "what": "For any language, a logistic regression on signs; for English, the mean of one on signs, embedding "
        "and hashed words, and of three networks of 24 hidden units on signs and embedding. Half precision.",
        "data": [
            {"source": source, "licence": licence, "items": counts[source]} for source, licence in LICENCES.items()
        ],
        "everthread": "The questions of bench/router_questions.txt, written for this.",
        "not_used": "LoCoMo (CC BY-NC), xSID (CC BY-SA), RealTimeQA and PAT-Questions (no licence stated).",
        "command": "python bench/search_gate.py --train",
        "date": datetime.now(UTC).date().isoformat(),
    }
    WEIGHTS.write_text(json.dumps({"provenance": provenance, **data}, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"Wrote {WEIGHTS.name}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--vectors", type=Path, help="a file (.npz) that keeps the embeddings between runs")
    parser.add_argument("--train", action="store_true", help="write the shipped weights and measure nothing")
    parser.add_argument("--random-folds", action="store_true", help="let alike questions fall into different folds")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    items = load(args.data)
    vectors = embed(items, args.vectors)
    readings = [read_question(item.text, datetime.now(UTC).year) for item in items]
    trainer = Trainer(items, readings, vectors)
    if args.train:
        train(trainer, items)
        return
    words = asyncio.run(by_words(items))
    router, signs_only = held_out(items, readings, vectors, trainer, folds(items, vectors, args.random_folds))

    def then(routed: np.ndarray) -> np.ndarray:
        return np.array([bool(routed[n]) if word is None else word for n, word in enumerate(words)])

    needed = trainer.needed
    ways = {
        "keywords": np.array([word is True for word in words]),
        "router": router,
        "keywords, then router": then(router),
        "the same, no embeddings": then(signs_only),
    }
    source = np.array([item.source for item in items])
    language = np.array([item.language for item in items])
    chat = np.isin(source, CHAT)
    own = source == OWN
    clear = ~np.array([item.borderline for item in items]) & ~chat & ~own
    sources = sorted(set(source[~chat & ~own]))
    print(f"{datetime.now(UTC):%Y-%m-%d}, {len(items)} items")
    report = {
        "clear": table("clear labels", ["all"], lambda _: clear, needed, ways),
        "language": table("language", sorted(set(language[clear])), lambda n: clear & (language == n), needed, ways),
        "xsid": table(
            "xSID, the same questions",
            sorted(set(language[source == "xsid"])),
            lambda n: clear & (source == "xsid") & (language == n),
            needed,
            ways,
        ),
        "source": table("source", sources, lambda n: clear & (source == n), needed, ways),
        "borderline": table("borderline labels", ["all"], lambda _: ~clear & ~chat & ~own, needed, ways),
        "chat": table("chat turns", CHAT, lambda n: source == n, needed, ways),
        "all_chat": table("chat turns", ["all"], lambda _: chat | np.isin(source, TASKS), needed, ways),
    }
    if args.json:
        args.json.write_text(json.dumps(report, indent=1), "utf-8")


if __name__ == "__main__":
    main()
