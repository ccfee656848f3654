"""Tokens of a long conversation, and what of them a prompt cache serves: `python -m bench.tokens [--turns 1000]`.

Conversations of LoCoMo, one after the other, are one thread of 1,000 turns. It goes through the whole graph on embedded
Postgres in each profile at its default settings, with recall and facts. Beside it are the whole history in the prompt,
and the peers that summarize, at everthread's default budget of a prompt.

The unchanged prefix of a prompt is what it begins with that the prompt before it began with too, whole messages and the
beginning of the next. A provider's cache serves it at a tenth of the price: "cost" is what the prompts cost then, in
tokens of full price. "In steps" counts as OpenAI does: no prefix below 1,024 tokens, and whole steps of 128.

`--context` takes other sizes of a prompt, as `max_context_tokens`; 0 is the default. The processor time of a turn is
that of this process, without the database's.

Vectors are drawn from a hash, so that words alone recall; `--embed` takes the real model, which is slower by far.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage

from bench.counting import CountingSummarizer
from bench.datasets import locomo
from bench.driving import PROFILE_NAMES, Driver, Exchange, driver, exchanges
from bench.window_peers import WholeHistory, Window, peers
from everthread.prompts.system import SYSTEM
from everthread.text.tokens import count_message_tokens, estimate_tokens

BUDGET = 6976
"""Tokens of a prompt: everthread's default, less its reply."""

CACHED = 0.1
"""The price of a cached token."""

LEAST, STEP = 1024, 128

COLUMNS = (
    "tokens a turn: mean", "p95", "last", "total", "of whole history", "unchanged prefix", "cost, cached at 0.1",
    "of whole history", "cost in steps", "processor ms a turn",
)  # fmt: skip


class Ledger:
    """What the prompts of one thread cost."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.prefix: list[int] = []
        self.seconds = 0.0
        self._before: list[BaseMessage] = []

    def add(self, prompt: Sequence[BaseMessage]) -> None:
        """Count the next prompt."""
        self.tokens.append(count_message_tokens(prompt))
        self.prefix.append(unchanged(self._before, prompt))
        self._before = list(prompt)

    def figures(self) -> dict[str, float]:
        """The columns of the table."""
        total = sum(self.tokens)
        in_steps = [size - size % STEP if size >= LEAST else 0 for size in self.prefix]
        return {
            "mean": fmean(self.tokens),
            "p95": sorted(self.tokens)[int(len(self.tokens) * 0.95)],
            "last": self.tokens[-1],
            "total": total,
            "prefix": sum(self.prefix) / total,
            "cost": total - (1 - CACHED) * sum(self.prefix),
            "cost in steps": total - (1 - CACHED) * sum(in_steps),
            "processor": 1000 * self.seconds / len(self.tokens),
        }


def unchanged(before: Sequence[BaseMessage], prompt: Sequence[BaseMessage]) -> int:
    """Tokens with which both prompts begin."""
    tokens = 0
    for old, new in zip(before, prompt, strict=False):
        if (old.type, old.text) == (new.type, new.text):
            tokens += count_message_tokens([new])
            continue
        if old.type == new.type:
            same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old.text, new.text)))  # noqa: B905
            tokens += estimate_tokens(new.text[:same].rpartition(" ")[0])
        break
    return tokens


def conversation(data: Path | None, turns: int) -> list[Exchange]:
    """Exchanges of one conversation after the other, until they are so many."""
    said = (
        exchange for index, haystack in enumerate(locomo(data)) for exchange in exchanges(haystack, prefix=f"{index}/")
    )
    return list(itertools.islice(said, turns))


async def through(profile: str, said: Sequence[Exchange], bench: Driver, context: int) -> Ledger:
    """The prompts of one profile."""
    values = {"max_context_tokens": context} if context else {}
    ledger, turn = Ledger(), bench.turn(profile, f"{profile}-{context}", **values)
    for index, exchange in enumerate(said, start=1):
        begun = time.process_time()
        if error := (await bench.say(exchange, turn)).error:
            raise RuntimeError(error)
        ledger.seconds += time.process_time() - begun
        ledger.add(bench.model.prompt)
        if index % 250 == 0:
            print(f"{profile}: {index} turns", file=sys.stderr)
    return ledger


async def beside(window: Window, said: Sequence[Exchange]) -> Ledger:
    """The prompts of a peer, which are led by the same instructions."""
    ledger = Ledger()
    system = SystemMessage(SYSTEM)
    new: list[Any] = []
    for exchange in said:
        ledger.add([system, *await window.before([*new, exchange.user])])
        new = [exchange.reply]
    return ledger


async def run(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    said = conversation(options.data, options.turns)
    summarizer = CountingSummarizer()
    table = {"whole history": (await beside(WholeHistory(), said)).figures()}
    for name, make in peers():
        table[name] = (await beside(make(summarizer, BUDGET), said)).figures()
    async with driver(embed=options.embed) as bench:
        for profile, context in itertools.product(options.profiles, options.context):
            name = f"{profile}, {context:,} tokens" if context else profile
            table[name] = (await through(profile, said, bench, context)).figures()
    return table


def show(table: dict[str, dict[str, float]], turns: int) -> None:
    whole = table["whole history"]
    print(f"\n{turns} turns\n\n| | {' | '.join(COLUMNS)} |\n|---|" + "---|" * len(COLUMNS))
    for name, row in table.items():
        sizes = [f"{row[column]:,.0f}" for column in ("mean", "p95", "last", "total")]
        shares = [f"{row['total'] / whole['total']:.1%}", f"{row['prefix']:.1%}", f"{row['cost']:,.0f}"]
        shares += [f"{row['cost'] / whole['cost']:.1%}", f"{row['cost in steps']:,.0f}", f"{row['processor']:.0f}"]
        print(f"| {name} | {' | '.join([*sizes, *shares])} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--profiles", type=lambda text: text.split(","), default=list(PROFILE_NAMES))
    parser.add_argument("--context", type=lambda text: [int(n) for n in text.split(",")], default=[0], metavar="N,N")
    parser.add_argument("--embed", action="store_true", help="recall with the real embedding model")
    parser.add_argument("--data", type=Path, help="a file in the form of LoCoMo")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    table = asyncio.run(run(options))
    show(table, options.turns)
    if options.json:
        options.json.write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
