"""A summary that ends at a change of topic, and one by count: `python -m bench.topics`.

The conversations of LoCoMo, whose sessions are days apart, go through each profile with `summary_window` at its default
and at `topic`, with the extractive summarizer. Told are: of the ends of sessions the share at which a summary ends; the
share of first summaries that tell of several sessions; how many there are and their tokens per 100 messages; and of
LoCoMo's answers the share of content words, those of the question aside, that the first summaries of their evidence
say, and that the chain says at the end of the conversation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from bench.compressed import Compressed
from bench.datasets import Haystack, Question, locomo
from bench.driving import PROFILE_NAMES
from everthread.settings.settings import Settings
from everthread.state.records import Summary
from everthread.text.terms import terms

COLUMNS = ("session ends", "of several sessions", "summaries", "their tokens", "answers in them", "in the chain")


async def measure(haystack: Haystack, settings: Settings, rows: dict[str, list[float]]) -> None:
    """Add the figures of one conversation."""
    messages = haystack.threads["one"]
    thread = Compressed(settings)
    for at in range(0, len(messages) - 1, 2):
        thread.take(*messages[at : at + 2])
        await thread.settle()
    at = {str(message.id): n for n, message in enumerate(messages)}
    session = {id_: id_.partition(":")[0] for id_ in at}
    first: list[tuple[Summary, list[str]]] = [
        (made, said) for made in thread.made.values() if (said := [id_ for id_ in made.source_ids if id_ in at])
    ]
    ends = {max(at[id_] for id_ in said) for _, said in first}
    last = [n for n in range(max(ends)) if session[str(messages[n].id)] != session[str(messages[n + 1].id)]]
    rows["session ends"] += [float(n in ends) for n in last]
    rows["of several sessions"] += [float(len({session[id_] for id_ in said}) > 1) for _, said in first]
    rows["summaries"].append(100 * len(first) / len(messages))
    rows["their tokens"].append(100 * sum(made.tokens for made, _ in first) / len(messages))
    chain = " ".join(message.text for message in thread.view)
    for question in haystack.questions:
        found = [made.content for made, said in first if not question.evidence.isdisjoint(said)]
        if found:
            rows["answers in them"] += _share(question, found)
            rows["in the chain"] += _share(question, [chain])


def _share(question: Question, texts: Iterable[str]) -> list[float]:
    wanted = set(terms(question.answer)) - set(terms(question.text))
    return [len(wanted & set(terms(" ".join(texts)))) / len(wanted)] if wanted else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a file in the form of LoCoMo")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    table: dict[str, dict[str, float]] = {}
    for profile in PROFILE_NAMES:
        for window in ("last", "oldest", "topic") if profile == "multi_strategy" else ("last", "topic"):
            rows: dict[str, list[float]] = defaultdict(list)
            for haystack in locomo(options.data):
                asyncio.run(measure(haystack, Settings(profile=profile, summary_window=window), rows))
            table[f"{profile}, {window}"] = {name: fmean(rows[name]) for name in COLUMNS}
    print(f"| | {' | '.join(COLUMNS)} |\n|---{'|---' * len(COLUMNS)}|")
    for name, row in table.items():
        cells = [f"{row[c]:.1f}" if c in {"summaries", "their tokens"} else f"{row[c]:.1%}" for c in COLUMNS]
        print(f"| {name} | {' | '.join(cells)} |")
    if options.json:
        options.json.write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
