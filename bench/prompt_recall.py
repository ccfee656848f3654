"""What of the evidence reaches the prompt, at default settings: `python -m bench.prompt_recall [--part all]`.

Each conversation of LoCoMo (or chat of BEAM) goes through the nodes as one thread: archived, embedded, read for facts,
summarized. At its end each question is asked, and its prompt is assembled: recall, pairing, removal of repeats, all as
in a turn. A message is in the prompt if its whole text stands there, or the excerpt that its memory shows of it.

Beside the questions of a set are those that should bring nothing: remarks of another conversation, and its questions,
asked of the people of this one, about what was never said. Where nothing is kept of an earlier run (`--keep`), a
conversation takes a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import pickle
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage, HumanMessage

from bench.datasets import SETS, Haystack, Question
from bench.driving import Carried, Scripted, exchanges, plain, settled, with_new
from bench.kept_vectors import KeptVectors
from everthread.nodes.memory_retrieval import memory_retrieval
from everthread.nodes.pairing import pairing
from everthread.runtime.chain_texts import with_chain
from everthread.runtime.prompt import assembled
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.settings.settings import Settings
from everthread.text.tokens import estimate_tokens

PARTS = {
    "tune": ("conv-26", "conv-42", "beam100k-1", "beam100k-4", "beam100k-7"),
    "check": ("conv-44", "conv-49", "beam100k-11", "beam100k-13", "beam100k-16"),
    "rest": ("conv-30", "conv-41", "conv-43", "beam100k-18", "beam100k-19"),
}
"""What constants are tuned on, what they are checked on, and what is looked at in the end."""

NOTHING = ("remark", "never said")
"""Kinds of questions that should bring no memory."""

FOREIGN = 40
"""Remarks, and questions, of another conversation that each is asked."""


class Row(NamedTuple):
    """What one prompt held: the share of the evidence, tokens in all and of parts, memories, tokens of the evidence."""

    kind: str
    share: float
    prompt: int
    facts: int
    tokens: int
    memories: int
    evidence: int


def nothing(haystack: Haystack, other: Haystack) -> list[Question]:
    """Remarks of another conversation, and its questions, asked of the people of this one."""
    drawn = random.Random(7)
    said = [m for m in other.threads["one"] if m.type == "human" and not m.text.rstrip().endswith("?")]
    names = [dict.fromkeys(m.name for m in h.threads["one"] if m.name) for h in (other, haystack)]

    def here(text: str) -> str:
        for old, new in zip(*names, strict=False):
            text = text.replace(str(old), str(new))
        return text

    remarks = [Question(here(m.text), set(), "remark") for m in drawn.sample(said, FOREIGN)]
    return remarks + [Question(here(q.text), set(), "never said") for q in drawn.sample(other.questions, FOREIGN)]


async def grown(haystack: Haystack, folder: Path, resources: Resources, turn: Turn) -> Carried:
    """The state after the conversation; as it was kept, where it was."""
    kept = folder / "state.pickle"
    if kept.exists():
        carried: Carried = pickle.loads(kept.read_bytes())
        return carried
    carried = {}
    for exchange in exchanges(haystack):
        report = await prompted(carried, exchange.user, turn)
        carried = await settled(carried, [exchange.user, exchange.reply], turn) | {"context_report": report}
    await resources.background.settled()
    while await resources.of_user(haystack.name).vectors.embed_pending(timeout=600, limit=256):
        pass
    kept.write_bytes(pickle.dumps(carried))
    return carried


async def prompted(carried: Carried, message: AnyMessage, turn: Turn) -> Any:
    """The report of the prompt for a message: where it was cut decides where the next one is."""
    state, _ = await with_chain(with_new(carried, [message]), turn)
    return (await assembled(state, turn))["context_report"]


async def ask(haystack: Haystack, question: Question, carried: Carried, turn: Turn) -> Row:
    state = with_new(carried, [HumanMessage(question.text, id="question")])
    state |= plain(await memory_retrieval(state, turn))
    state |= await pairing(state, turn)
    state, _ = await with_chain(state, turn)
    made = await assembled(state, turn)
    prompt = _plain_text("\n".join(message.text for message in made["context"].messages))
    memories = made["recall"].memories
    parts = {source for memory in memories for source in memory.source_ids}
    whole = {str(m.id): m.text for thread in haystack.threads.values() for m in thread}
    there = {
        id_ for id_ in question.evidence
        if _plain_text(whole[id_]) in prompt
        or (id_ in parts and estimate_tokens(whole[id_]) > turn.settings.memory_tokens // 4)
    }  # fmt: skip
    report = made["context_report"]
    tokens = {section.name: section.tokens for section in report.sections}
    return Row(
        question.category, len(there) / len(question.evidence) if question.evidence else 0.0, report.tokens,
        tokens.get("facts", 0), tokens.get("memories", 0), len(memories),
        sum(estimate_tokens(whole[id_]) for id_ in there),
    )  # fmt: skip


def _plain_text(text: str) -> str:
    return " ".join(text.split())


async def run(options: argparse.Namespace, folder: Path) -> list[Row]:
    haystacks = list(SETS[options.set](options.data))
    wanted = {name for part in PARTS.values() for name in part} if options.part == "all" else set(PARTS[options.part])
    vectors, rows = KeptVectors(folder / "vectors.db"), []
    for number, haystack in enumerate(haystacks):
        if options.data is None and haystack.name not in wanted:
            continue
        own = folder / haystack.name
        settings = Settings(
            data_dir=own, database_url="sqlite", user_id=haystack.name, web_search="off", summary_model="extractive",
            timeouts={"embedding": 60},
        )  # fmt: skip
        resources = Resources(settings, model=Scripted(), embeddings=vectors)
        await resources.open()
        turn = Turn(resources, resources.settings, {"configurable": {"thread_id": f"{haystack.name}/one"}})
        carried = await grown(haystack, own, resources, turn)
        other = haystacks[(number + 1) % len(haystacks)]
        questions = haystack.questions[:: options.every]
        questions = questions + (nothing(haystack, other) if options.set == "locomo" else [])
        rows += [await ask(haystack, question, carried, turn) for question in questions]
        await resources.close()
        print(haystack.name, file=sys.stderr)
    return rows


def table(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    by_kind: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row)
        if row.kind not in NOTHING:
            by_kind["all"].append(row)
    figures = {
        kind: {
            "questions": len(own),
            "share": 100 * fmean(row.share for row in own),
            "whole": 100 * fmean(row.share == 1 for row in own),
            "prompt": fmean(row.prompt for row in own),
            "facts": fmean(row.facts for row in own),
            "memories": fmean(row.memories for row in own),
            "tokens": fmean(row.tokens for row in own),
            "for one": sum(row.tokens for row in own) / max(1, sum(row.evidence for row in own)),
            "none": 100 * fmean(row.memories == 0 for row in own),
        }
        for kind, own in sorted(by_kind.items())
    }
    head = list(figures["all"])
    print(f"| | {' | '.join(head)} |\n|---|{'---|' * len(head)}")
    for kind, values in figures.items():
        print(f"| {kind} | {' | '.join(f'{value:,.1f}'.removesuffix('.0') for value in values.values())} |")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=("locomo", "beam"), default="locomo")
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--every", type=int, default=1, help="every so many questions")
    parser.add_argument("--keep", type=Path, help="where grown conversations and their vectors stay for the next run")
    parser.add_argument("--data", type=Path, help="another file (or folder) of the same form")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="everthread-bench-") as folder:
        figures = table(asyncio.run(run(options, options.keep or Path(folder))))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
