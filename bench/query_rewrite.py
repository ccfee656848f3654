"""A follow-up as a search query: `python bench/query_rewrite.py [--data FILE] [--json FILE] [--model NAME]`.

Token F1 of the query against the human stand-alone rewrite, and the share of the rewrite's content words that the query
holds: for the last turn alone, the last turn after all earlier ones, the fallback without a model
(`router/standalone.py`), and with `--model` a small language model asked by the node's own call (`slm_router`) on a
sample, beside the others on the same items. Where the model says that no search is needed, or answers neither yes nor
no, the query is the fallback's: the set has no such label, and how often is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.datasets import DATA
from everthread.text.stop_words import stop_words

Item = dict[str, Any]


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def f1(query: str, rewrite: str) -> float:
    """Token F1 of two texts, in [0, 1]."""
    ours, theirs = Counter(tokens(query)), Counter(tokens(rewrite))
    shared = (ours & theirs).total()
    return 2 * shared / (ours.total() + theirs.total()) if shared else 0.0


def held(query: str, rewrite: str) -> float:
    """The share of the rewrite's content words that the query holds."""
    content = set(tokens(rewrite)) - stop_words("en")
    return len(content & set(tokens(query))) / len(content) if content else 1.0


def row(name: str, items: Sequence[Item], query: Callable[[Item], str]) -> dict[str, Any]:
    queries = [query(item) for item in items]
    golds = [item["standalone_rewrite"] for item in items]
    scores = [f1(ours, gold) for ours, gold in zip(queries, golds, strict=True)]
    alone = [f1(item["last_turn"], gold) for item, gold in zip(items, golds, strict=True)]
    same = [n for n, item in enumerate(items) if item["last_turn"].strip() == golds[n].strip()]
    figures = {
        "items": len(items),
        "f1": sum(scores) / len(scores),
        "content": sum(map(held, queries, golds)) / len(items),
        "better": sum(ours > last for ours, last in zip(scores, alone, strict=True)),
        "worse": sum(ours < last for ours, last in zip(scores, alone, strict=True)),
        "f1 where the last turn is the rewrite": sum(scores[n] for n in same) / len(same) if same else 1.0,
    }
    shown = " | ".join(f"{value:.3f}" if isinstance(value, float) else str(value) for value in figures.values())
    print(f"| {name} | {shown} |")
    return figures


async def asked(items: Sequence[Item], name: str, seconds: float) -> tuple[dict[str, str | None], Counter[str]]:
    """The queries of the small model by item, and how it decided."""
    from everthread.models.chat import aload
    from everthread.nodes.slm_router import prompts
    from everthread.search.cleaning import search_query
    from everthread.search.router.call import ask, is_about

    model = await aload(name, timeout=seconds)
    found: dict[str, str | None] = {}
    decided: Counter[str] = Counter()
    for item in items:
        structured, plain = prompts([HumanMessage(turn, id=str(n)) for n, turn in enumerate(item["user_turns"])])
        try:
            answer = await asyncio.wait_for(ask(model, structured, plain), seconds)
        except Exception as error:
            answer = None
            decided[type(error).__name__] += 1
        else:
            decided["neither" if answer is None else "yes" if answer.needed else "no"] += 1
        query = search_query(answer.query or "") if answer else ""
        about = is_about(query, " ".join(item["user_turns"]))
        found[item["id"]] = query if about else None
        decided["with a query"] += about
        decided["with a query about something else"] += bool(query) and not about
    return found, decided


def main() -> None:
    from everthread.search.router.standalone import standalone_query

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA / "query_rewrite" / "query_rewrite_dev.jsonl")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--model", help="a small language model, as in the setting slm_model: smollm2, openai:...")
    parser.add_argument("--sample", type=int, default=100, help="items for the model: every so many-th of all")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the model may take for one item")
    options = parser.parse_args()
    items = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    ways: dict[str, Callable[[Item], str]] = {
        "last turn alone": lambda item: item["last_turn"],
        "all turns": lambda item: " ".join(item["user_turns"]),
        "fallback without a model": lambda item: standalone_query(item["last_turn"], item["user_turns"][:-1]),
    }
    print(f"{datetime.now(UTC):%Y-%m-%d}, {len(items)} items\n")
    print("| query | items | token F1 | content words held | better | worse | F1 where the last turn is the rewrite |")
    print("|---|---|---|---|---|---|---|")
    report = {"all": {name: row(name, items, way) for name, way in ways.items()}}
    if options.model:
        sample = items[:: max(1, len(items) // options.sample)][: options.sample]
        queries, decided = asyncio.run(asked(sample, options.model, options.seconds))
        ways[options.model] = lambda item: queries[item["id"]] or ways["fallback without a model"](item)
        report["sample"] = {f"{name}, sample": row(f"{name}, sample", sample, way) for name, way in ways.items()}
        own = [item for item in sample if queries[item["id"]]]
        if own:
            report["own queries"] = {name: row(f"{name}, its own queries", own, way) for name, way in ways.items()}
        report["decided"] = {"all": dict(decided)}
        print(f"\n{options.model} decided: {dict(decided)}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
