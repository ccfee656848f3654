"""What `summary_window` costs in coherence: `python -m bench.summary_window`.

Real conversations (LoCoMo) go through the policy of `multi_strategy` with the extractive summarizer, two messages a
turn. Before each turn the live chain is looked at: how much of what was just said, and of what was said before, does
the model still see.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from bench.compressed import Compressed
from bench.datasets import locomo
from everthread.settings.settings import Settings
from everthread.state.messages import message_text
from everthread.text.terms import terms as content_terms
from everthread.text.tokens import count_message_tokens

NEWEST, BEFORE = 4, 50
COLUMNS = ("newest 4 as said", "their words", "words of 5 to 50 back", "tokens")


async def measure(messages: Sequence[AnyMessage], settings: Settings) -> list[tuple[float, ...]]:
    """The figures of every turn of one conversation."""
    thread = Compressed(settings)
    rows = []
    for n in range(0, len(messages) - 1, 2):
        if n >= BEFORE:
            rows.append(_figures(thread.view, messages[:n]))
        thread.take(*messages[n : n + 2])
        await thread.settle()
    return rows


def _figures(live: Sequence[AnyMessage], said: Sequence[AnyMessage]) -> tuple[float, ...]:
    seen = {term for message in live for term in content_terms(message_text(message))}
    ids = {message.id for message in live}
    newest, before = said[-NEWEST:], said[-BEFORE:-NEWEST]
    return (
        fmean(message.id in ids for message in newest),
        _share(newest, seen),
        _share(before, seen),
        count_message_tokens(live),
    )


def _share(messages: Sequence[AnyMessage], seen: set[str]) -> float:
    terms = {term for message in messages for term in content_terms(message_text(message))}
    return len(terms & seen) / len(terms) if terms else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a file in the form of LoCoMo")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    table: dict[str, dict[str, float]] = {}
    for window in ("last", "oldest"):
        rows: list[tuple[float, ...]] = []
        for haystack in locomo(options.data):
            said = [
                (HumanMessage, AIMessage)[n % 2](message_text(message), id=message.id, name=message.name)
                for n, message in enumerate(haystack.threads["one"])
            ]
            rows += asyncio.run(measure(said, Settings(summary_window=window)))
        table[window] = {
            column: fmean(figures) for column, figures in zip(COLUMNS, zip(*rows, strict=True), strict=True)
        }
    print(f"| summary_window | {' | '.join(COLUMNS)} |\n|---{'|---' * len(COLUMNS)}|")
    for window, figures in table.items():
        cells = [f"{figures[column]:.0f}" if column == "tokens" else f"{figures[column]:.1%}" for column in COLUMNS]
        print(f"| {window} | {' | '.join(cells)} |")
    if options.json:
        options.json.write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
