"""What of a whole stands in the prompt, against rubrics: `python -m bench.wholes --keep FOLDER [--profile archive]`.

BEAM's questions for a summary or an order of events, asked at the end of their chat as `bench.prompt_recall` does; and
questions about the whole of LoCoMo's conversations, written for this, against the events and summaries that the set
lists (`--set locomo`). Of each line of a rubric, beside the words of the question:

- `words`: the share of its words that stand in the prompt, each weighed by how rare it is in the conversation,
- `near`: the same within 40 words of the prompt, where there are most,
- `half`: how many lines have at least half of that;

and of the evidence (BEAM) how many messages are told at least in part, and whole.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

from langchain_core.messages import HumanMessage

from bench.datasets import DATA, SETS, Haystack
from bench.driving import Scripted, plain, with_new
from bench.kept_vectors import KeptVectors
from bench.prompt_recall import PARTS, grown
from everthread.nodes.memory_retrieval import memory_retrieval
from everthread.nodes.pairing import pairing
from everthread.runtime.chain_texts import with_chain
from everthread.runtime.prompt import assembled
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.settings.settings import Settings
from everthread.text.terms import ENGLISH, terms

MEASURES = ("words", "near", "half", "in part", "whole", "prompt", "memories")
BEAM = ("summarization", "event_ordering")
NEAR = 40
TOPICS = {
    "conv-26": {"Caroline": "adoption plans", "Melanie": "art and pottery"},
    "conv-30": {"Jon": "dance studio", "Gina": "online store"},
    "conv-41": {"Maria": "volunteering", "John": "political plans"},
    "conv-42": {"Joanna": "screenplays and writing", "Nate": "gaming"},
    "conv-43": {"Tim": "studies and writing", "John": "basketball career"},
    "conv-44": {"Audrey": "dogs", "Andrew": "job and dating"},
    "conv-49": {"Evan": "health", "Sam": "diet and cooking"},
}

Asked = tuple[str, str, Sequence[str], set[str]]
"""The kind of a question, the question, its rubric, and the ids of its evidence."""


def of_beam(name: str) -> Iterator[Asked]:
    for q in json.loads((DATA / "beam" / f"{name}.json").read_text())["probing_questions"]:
        if q["ability"] in BEAM and q["evidence_ids"]:
            rubric = [line.removeprefix("LLM response should contain: ") for line in q["rubric"]]
            yield q["ability"], q["question"], rubric, set(map(str, q["evidence_ids"]))


def of_locomo(name: str) -> Iterator[Asked]:
    records = json.loads((DATA / "locomo" / "locomo_dev7.json").read_text())
    record = next(record for record in records if record["sample_id"] == name)
    speakers = [record["conversation"][f"speaker_{which}"] for which in "ab"]
    for person in speakers:
        events = [event for told in record["event_summary"].values() for event in told.get(person, [])]
        yield "a life", f"How has {person}'s life developed over the last months?", events, set()
        yield "its order", f"In what order did the important events in {person}'s life happen?", events, set()
        topic = TOPICS[name][person]
        yield "one side of it", f"How have {person}'s {topic} developed over time?", events, set()
    sessions = list(record["session_summary"].values())
    named = f"Give me a summary of everything {' and '.join(speakers)} have talked about."
    yield "all, by name", named, sessions, set()
    yield "all, no subject", "Summarize what we talked about so far.", sessions, set()


def told(rubric: Sequence[str], question: str, prompt: str, rarity: dict[str, float]) -> list[float]:
    stands, asked = terms(prompt, ENGLISH), set(terms(question, ENGLISH))
    shares: list[tuple[float, float, float]] = []
    for line in rubric:
        own = {word: rarity.get(word, max(rarity.values())) for word in {*terms(line, ENGLISH)} - asked}
        at = [n for n, word in enumerate(stands) if word in own]
        near = max((sum(own[word] for word in own.keys() & {*stands[n : n + NEAR]}) for n in at), default=0.0)
        if total := sum(own.values()):
            there = sum(own[word] for word in own.keys() & {*stands})
            shares.append((there / total, near / total, float(near / total >= 0.5)))
    return [100 * fmean(values) for values in zip(*shares, strict=True)]


async def ask(haystack: Haystack, asked: Asked, carried: Any, turn: Turn) -> list[float]:
    _, question, rubric, evidence = asked
    said = {str(m.id): " ".join(m.text.split()) for m in haystack.threads["one"]}
    seen = Counter(word for text in said.values() for word in {*terms(text, ENGLISH)})
    state = with_new(carried, [HumanMessage(question, id="question")])
    state |= plain(await memory_retrieval(state, turn))
    state |= await pairing(state, turn)
    state, _ = await with_chain(state, turn)
    made = await assembled(state, turn)
    prompt = " ".join("\n".join(message.text for message in made["context"].messages).split())
    whole = {id_ for id_ in evidence if said[id_] in prompt}
    parts = {id_ for memory in made["recall"].memories for id_ in memory.source_ids} & evidence
    shares = [100 * len(found) / max(1, len(evidence)) for found in (whole | parts, whole)]
    report = made["context_report"]
    memories = next((section.tokens for section in report.sections if section.name == "memories"), 0)
    rarity = {word: log(1 + len(said) / (count + 0.5)) for word, count in seen.items()}
    return [*told(rubric, question, prompt, rarity), *shares, report.tokens, memories]


async def run(options: argparse.Namespace) -> dict[str, list[list[float]]]:
    rows: dict[str, list[list[float]]] = defaultdict(list)
    for haystack in SETS[options.set](None):
        if options.part != "all" and haystack.name not in PARTS[options.part]:
            continue
        own = options.keep / haystack.name
        settings = Settings(
            data_dir=own, database_url="sqlite", user_id=haystack.name, web_search="off", summary_model="extractive",
            timeouts={"embedding": 60}, profile=options.profile,
        )  # fmt: skip
        resources = Resources(settings, model=Scripted(), embeddings=KeptVectors(options.keep / "vectors.db"))
        await resources.open()
        turn = Turn(resources, resources.settings, {"configurable": {"thread_id": f"{haystack.name}/one"}})
        carried = await grown(haystack, own, resources, turn)
        for asked in (of_beam if options.set == "beam" else of_locomo)(haystack.name):
            rows[asked[0]].append(await ask(haystack, asked, carried, turn))
        await resources.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=("beam", "locomo"), default="beam")
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--profile", default="multi_strategy")
    parser.add_argument("--keep", type=Path, required=True, help="where grown conversations and their vectors stay")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    rows = asyncio.run(run(options))
    print(f"| | questions | {' | '.join(MEASURES)} |\n|---|{'---|' * (len(MEASURES) + 1)}")
    for kind, values in rows.items():
        figures = " | ".join(f"{fmean(column):,.1f}" for column in zip(*values, strict=True))
        print(f"| {kind} | {len(values)} | {figures} |")


if __name__ == "__main__":
    main()
