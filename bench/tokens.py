"""Tokens of a long conversation, and what of them a prompt cache serves: `python -m bench.tokens [--turns 100,1000]`.

Conversations of LoCoMo (or `--set beam`, whose messages are long), one after the other, are one thread. It goes through
the whole graph on embedded Postgres in each profile at its default settings, with recall and facts. Beside it are the
whole history in the prompt, and the peers that summarize, at everthread's default budget of a prompt. All is told after
each of the numbers of turns.

The unchanged prefix of a prompt is what it begins with that the prompt before it began with too, whole messages and the
beginning of the next. A provider's cache serves it at a tenth of the price: "cost" is what the prompts cost then, in
tokens of full price. "In steps" counts as OpenAI does: no prefix below 1,024 tokens, and whole steps of 128.

A second table tells where the price of each profile comes from, a turn: tokens of the prompt's parts, how often it was
cut, and its tokens of full price: the newest exchange and the question, what was found for it (facts, results,
memories), and the rest, which is what cuts write anew. What is cached is a tenth of the others.

"Exchange shown" is the share of turns in whose prompt the exchange before stands as it was said.

`--context` takes other sizes of a prompt, as `max_context_tokens`; 0 is the default. The processor time of a turn is
that of this process, without the database's, over the last hundred turns.

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
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage

from bench.counting import CountingSummarizer
from bench.datasets import SETS
from bench.driving import PROFILE_NAMES, Driver, Exchange, driver, exchanges
from bench.window_peers import WholeHistory, Window, peers
from everthread.prompts.system import SYSTEM
from everthread.state.turn_records import ContextReport
from everthread.text.tokens import count_message_tokens, estimate_tokens

BUDGET = 6976
"""Tokens of a prompt: everthread's default, less its reply."""

CACHED = 0.1
"""The price of a cached token."""

LEAST, STEP = 1024, 128

COLUMNS = (
    "tokens a turn: mean", "p95", "last", "total", "of whole history", "unchanged prefix", "cost, cached at 0.1",
    "of whole history", "cost in steps", "exchange shown", "processor ms a turn",
)  # fmt: skip


PARTS = ("system", "facts", "summaries", "recent", "results", "memories", "question")

LAST = 100
"""Turns over which the processor time is taken."""


class Ledger:
    """What the prompts of one thread cost."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.prefix: list[int] = []
        self.shown: list[bool] = []
        self.seconds: list[float] = []
        self.reports: list[ContextReport] = []
        self.said: list[int] = []
        self._before: list[BaseMessage] = []

    def add(
        self,
        prompt: Sequence[BaseMessage],
        just_said: Exchange | None = None,
        seconds: float = 0.0,
        report: ContextReport | None = None,
        question: BaseMessage | None = None,
    ) -> None:
        """Count the next prompt.

        Args:
            prompt: of the turn.
            just_said: the exchange before it.
            seconds: of processor time, which the turn took.
            report: of what it holds.
            question: that it ends with.
        """
        if report is not None and question is not None:
            self.reports.append(report)
            self.said.append(_size(question) + (_size(just_said.reply) if just_said is not None else 0))
        self.tokens.append(sum(map(_size, prompt)))
        self.prefix.append(unchanged(self._before, prompt))
        self.seconds.append(seconds)
        if just_said is not None:
            text = "\n".join(message.text for message in prompt)
            self.shown.append(just_said.user.text in text and just_said.reply.text in text)
        self._before = list(prompt)

    def figures(self, turns: int | None = None) -> dict[str, float]:
        """The columns of the table, after so many turns."""
        tokens, prefix = self.tokens[:turns], self.prefix[:turns]
        total = sum(tokens)
        in_steps = [size - size % STEP if size >= LEAST else 0 for size in prefix]
        return {
            "mean": fmean(tokens),
            "p95": sorted(tokens)[int(len(tokens) * 0.95)],
            "last": tokens[-1],
            "total": total,
            "prefix": sum(prefix) / total,
            "cost": total - (1 - CACHED) * sum(prefix),
            "cost in steps": total - (1 - CACHED) * sum(in_steps),
            "shown": fmean(self.shown[:turns]) if self.shown else 1.0,
            "processor": 1000 * fmean(self.seconds[:turns][-LAST:]),
        }

    def comes_from(self, turns: int | None = None) -> dict[str, float]:
        """The second table, after so many turns."""
        reports = self.reports[:turns]
        tokens = [{section.name: section.tokens for section in report.sections} for report in reports]
        parts = {name: fmean(of.get(name, 0) for of in tokens) for name in PARTS}
        found = parts["facts"] + parts["results"] + parts["memories"]
        said = fmean(self.said[:turns])
        new = fmean(size - same for size, same in zip(self.tokens[:turns], self.prefix[:turns], strict=True))
        cuts = sum(one.begins != other.begins for one, other in itertools.pairwise(reports))
        return {**parts, "cuts": cuts, "said": said, "found": found, "written anew": new - said - found}


def unchanged(before: Sequence[BaseMessage], prompt: Sequence[BaseMessage]) -> int:
    """Tokens with which both prompts begin."""
    tokens = 0
    for old, new in zip(before, prompt, strict=False):
        if old is new or (old.type, old.text) == (new.type, new.text):
            tokens += _size(new)
            continue
        if old.type == new.type:
            same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old.text, new.text)))  # noqa: B905
            tokens += estimate_tokens(new.text[:same].rpartition(" ")[0])
        break
    return tokens


def _size(message: BaseMessage) -> int:
    """Tokens of a message; a whole history has each of them in each of its prompts."""
    if not isinstance(message.content, str):
        return count_message_tokens([message])
    return _counted(type(message), message.content, message.name)


@lru_cache(maxsize=100_000)
def _counted(kind: type[BaseMessage], content: str, name: str | None) -> int:
    return count_message_tokens([kind(content=content, name=name)])


def conversation(data: Path | None, turns: int, kind: str = "locomo") -> list[Exchange]:
    """Exchanges of one conversation after the other, until they are so many; without those in which one is silent."""
    said = (
        exchange
        for index, haystack in enumerate(SETS[kind](data))
        for exchange in exchanges(haystack, prefix=f"{index}/")
        if exchange.user.text and exchange.reply.text
    )
    return list(itertools.islice(said, turns))


async def through(profile: str, said: Sequence[Exchange], bench: Driver, context: int) -> Ledger:
    """The prompts of one profile."""
    values = {"max_context_tokens": context} if context else {}
    ledger, turn = Ledger(), bench.turn(profile, f"{profile}-{context}", **values)
    for index, (before, exchange) in enumerate(zip([None, *said], said, strict=False), start=1):
        begun = time.process_time()
        if error := (await bench.say(exchange, turn)).error:
            raise RuntimeError(error)
        ledger.add(bench.model.prompt, before, time.process_time() - begun, bench.shown, exchange.user)
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


async def run(options: argparse.Namespace) -> dict[str, Ledger]:
    said = conversation(options.data, max(options.turns), options.set)
    summarizer = CountingSummarizer()
    table = {"whole history": await beside(WholeHistory(), said)}
    for name, make in peers() if options.peers else ():
        table[name] = await beside(make(summarizer, BUDGET), said)
    if options.profiles:
        async with driver(embed=options.embed) as bench:
            for profile, context in itertools.product(options.profiles, options.context):
                name = f"{profile}, {context:,} tokens" if context else profile
                table[name] = await through(profile, said, bench, context)
    return table


def show(table: dict[str, dict[str, float]], turns: int) -> None:
    whole = table["whole history"]
    print(f"\n{turns} turns\n\n| | {' | '.join(COLUMNS)} |\n|---|" + "---|" * len(COLUMNS))
    for name, row in table.items():
        sizes = [f"{row[column]:,.0f}" for column in ("mean", "p95", "last", "total")]
        shares = [f"{row['total'] / whole['total']:.1%}", f"{row['prefix']:.1%}", f"{row['cost']:,.0f}"]
        shares += [f"{row['cost'] / whole['cost']:.1%}", f"{row['cost in steps']:,.0f}"]
        shares += [f"{row['shown']:.1%}", f"{row['processor']:.0f}"]
        print(f"| {name} | {' | '.join([*sizes, *shares])} |")


def show_parts(ledgers: dict[str, Ledger], turns: int) -> None:
    rows = {name: ledger.comes_from(turns) for name, ledger in ledgers.items() if ledger.reports}
    for at, (name, row) in enumerate(rows.items()):
        if not at:
            print(f"\n| {turns} turns | {' | '.join(row)} |\n|---|{'---|' * len(row)}")
        print(f"| {name} | {' | '.join(f'{value:,.0f}' for value in row.values())} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=lambda text: [int(n) for n in text.split(",")], default=[1000], metavar="N,N")
    parser.add_argument("--profiles", type=lambda text: text.split(",") if text else [], default=list(PROFILE_NAMES))
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="only whole history beside the profiles")
    parser.add_argument("--set", choices=("locomo", "beam"), default="locomo")
    parser.add_argument("--context", type=lambda text: [int(n) for n in text.split(",")], default=[0], metavar="N,N")
    parser.add_argument("--embed", action="store_true", help="recall with the real embedding model")
    parser.add_argument("--data", type=Path, help="a file in the form of LoCoMo; of BEAM, a folder")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    ledgers = asyncio.run(run(options))
    table = {turns: {name: ledger.figures(turns) for name, ledger in ledgers.items()} for turns in options.turns}
    for turns, rows in table.items():
        show(rows, turns)
        show_parts(ledgers, turns)
    if options.json:
        options.json.write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
