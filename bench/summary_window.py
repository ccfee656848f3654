"""What of the newest messages the model sees as it was said: `python -m bench.summary_window`.

Real conversations (LoCoMo) go through the policy of each profile with the extractive summarizer, two messages a turn.
Before each turn it is looked at, in the live chain and in what the prompt shows of it at the default budget, how much
of what was just said, and of what was said before, does the model still see. `multi_strategy` comes with both values of
`summary_window`, which is about the chain.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from bench.compressed import Compressed
from bench.datasets import locomo
from bench.driving import PROFILE_NAMES
from everthread.assembly.assemble import assemble
from everthread.assembly.cut import cut
from everthread.assembly.layout import Layout
from everthread.assembly.marks import Marks
from everthread.runtime.prompt import token_budget
from everthread.settings.settings import Settings
from everthread.state.chain import ChainView
from everthread.state.messages import message_text
from everthread.state.records import Place, now
from everthread.text.terms import terms as content_terms
from everthread.text.tokens import count_message_tokens

NEWEST, BEFORE = 4, 50
COLUMNS = ("newest 4 as said", "their words", "words of 5 to 50 back", "tokens")


async def measure(messages: Sequence[AnyMessage], settings: Settings) -> dict[str, list[tuple[float, ...]]]:
    """The figures of every turn of one conversation: of the chain, and of the prompt."""
    thread = Compressed(settings)
    rows: dict[str, list[tuple[float, ...]]] = {"chain": [], "prompt": []}
    budget = token_budget(settings, None)
    for n in range(0, len(messages) - 1, 2):
        if n >= BEFORE:
            rows["chain"].append(_figures(thread.view, messages[:n]))
            rows["prompt"].append(_figures(_shown(thread, messages[n], settings, budget), messages[:n]))
        thread.take(*messages[n : n + 2])
        await thread.settle()
    return rows


def _shown(thread: Compressed, asked: AnyMessage, settings: Settings, budget: int) -> Sequence[AnyMessage]:
    """What the prompt shows of the conversation."""
    said: dict[str, Any] = {str(message.id): message for message in thread.said}
    places = {id_: Place(n, now()) for n, id_ in enumerate(said, start=1)}
    question = HumanMessage(message_text(asked), id="question")
    layout = Layout.of(settings)
    marks = Marks.of(layout, budget)
    shown = cut(ChainView([*thread.view, question], thread.view.kept), {**said, **thread.made}, places, marks)
    return assemble(shown.view, (), (), system_prompt="", budget=budget, layout=layout).messages[:-1]


def _figures(live: Sequence[AnyMessage], said: Sequence[AnyMessage]) -> tuple[float, ...]:
    seen = {term for message in live for term in content_terms(message_text(message))}
    texts = "\n".join(message_text(message) for message in live)
    newest, before = said[-NEWEST:], said[-BEFORE:-NEWEST]
    return (
        all(message_text(message) in texts for message in newest),
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
    kinds = [(name, "last") for name in PROFILE_NAMES]
    for profile, window in [*kinds[:1], (PROFILE_NAMES[0], "oldest"), *kinds[1:]]:
        rows: dict[str, list[tuple[float, ...]]] = {"chain": [], "prompt": []}
        for haystack in locomo(options.data):
            said = [
                (HumanMessage, AIMessage)[n % 2](message_text(message), id=message.id, name=message.name)
                for n, message in enumerate(haystack.threads["one"])
            ]
            found = asyncio.run(measure(said, Settings(profile=profile, summary_window=window)))
            for part, figures in found.items():
                rows[part] += figures
        for part, figures in rows.items():
            means = [fmean(values) for values in zip(*figures, strict=True)]
            name = profile if profile != PROFILE_NAMES[0] else f"{profile}, {window}"
            table[f"{name}: {part}"] = dict(zip(COLUMNS, means, strict=True))
    print(f"| | {' | '.join(COLUMNS)} |\n|---{'|---' * len(COLUMNS)}|")
    for row, shares in table.items():
        cells = [f"{shares[column]:.0f}" if column == "tokens" else f"{shares[column]:.1%}" for column in COLUMNS]
        print(f"| {row} | {' | '.join(cells)} |")
    if options.json:
        options.json.write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
