"""What compression costs and keeps: `python -m bench.compression [--part cost,survival,summarizer,rouge,stress]`.

cost        calls and tokens of the summarizer per 100 turns, beside LangChain's and LangMem's, with the same counting
survival    words of evidence and answers (LoCoMo) that stand in the prompt as the conversation grows
summarizer  a small model (`--model`) as summarizer (LoCoMo, BEAM): how often it is rejected, and that nothing is lost
rouge       the extractive summarizer against lead-3 (needs rouge-score); summaries of people that are accepted
stress      odd conversations through every profile: messages lost, prompts that a provider would refuse

Facts found without a model, in seven languages, are measured by `python -m bench.facts`.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.datasets import DATA, beam, locomo
from bench.driving import PROFILE_NAMES, Carried, driver, settled
from bench.small_summarizer import small_summaries
from bench.stress import conversations, faults, through
from bench.summary_rouge import MEASURES, accepted, rouge
from bench.survival import Rows, survive, table
from bench.tokens import conversation
from bench.window_cost import costs
from everthread.settings.settings import Settings
from everthread.state.messages import is_empty, message_text


async def cost(options: argparse.Namespace) -> Any:
    figures = await costs(conversation(options.data, options.turns))
    print(f"\n| per 100 turns, of {options.turns} | calls | tokens in | tokens out | not accepted |\n|---|{'---|' * 4}")
    for name, row in figures.items():
        print(
            f"| {name} | {' | '.join(f'{value:,.1f}' if value < 100 else f'{value:,.0f}' for value in row.values())} |"
        )
    return figures


async def survival(options: argparse.Namespace) -> Any:
    rows: Rows = defaultdict(list)
    async with driver(embed=not options.words_only) as bench:
        for haystack in itertools.islice(locomo(options.data), options.conversations):
            found = await survive(haystack, options.lengths, bench, budget=options.budget, questions=options.questions)
            for key, values in found.items():
                rows[key] += values
    figures = table(rows, options.lengths)
    lengths = sorted({length for row in figures.values() for length in row}, key=int)
    counts = [str(figures["sliding window"][length]["questions"]) for length in lengths]
    print(f"\nBudget {options.budget} tokens; questions at each length: {', '.join(counts)}")
    print(f"| evidence / answer words, tokens | {' | '.join(f'{length} turns' for length in lengths)} |")
    print(f"|---|{'---|' * len(lengths)}")
    for name, row in figures.items():
        cells = [
            f"{cell['evidence']:.1%} / {cell['answer']:.1%}, {cell['tokens']:,.0f}" for cell in map(row.get, lengths)
        ]
        print(f"| {name} | {' | '.join(cells)} |")
    return figures


async def summarizer(options: argparse.Namespace) -> Any:
    figures = {}
    for name, sets in (("LoCoMo", locomo(options.data)), ("BEAM", beam())):
        chosen = list(itertools.islice(sets, options.conversations))
        figures[name] = await small_summaries(chosen, options.batches, model=options.model)
        print(f"\n{name}: {figures[name]}", flush=True)
    return figures


async def against_lead(options: argparse.Namespace) -> Any:
    figures = await asyncio.to_thread(rouge, options.summaries)
    print(f"\n| F1 | | {' | '.join(MEASURES)} | words |\n|---|---|---|---|---|---|")
    for name, rows in figures.items():
        for system, row in rows.items():
            print(f"| {name} | {system} | {' | '.join(f'{value:.1f}' for value in row.values())} |")
    taken = await asyncio.to_thread(accepted, options.summaries)
    for name, (own, foreign) in taken.items():
        print(f"{name}: of people's summaries {own:.1%} are accepted, of those of other dialogues {foreign:.1%}")
    return {"rouge": figures, "accepted": taken}


async def stress(options: argparse.Namespace) -> Any:
    """All of them through engine and assembly, and every so many through the nodes, with the archive on Postgres."""
    every = list(conversations(options.odd))
    figures: dict[str, Any] = {}
    async with driver(embed=False) as bench:
        for profile in PROFILE_NAMES:
            counts: Counter[str] = Counter()
            for _, messages in every:
                counts.update(await through(messages, Settings(profile=profile)))
            for id_, messages in every[:: options.nodes] if options.nodes else ():
                counts.update(await _through_nodes(id_, messages, profile, bench))
            figures[profile] = dict(counts)
            bad = {name: count for name, count in counts.items() if name.startswith("fault") and count}
            done = {name: count for name, count in counts.items() if not name.startswith("fault")}
            print(f"{profile}: {done}, faults: {bad or 'none'}", flush=True)
    return figures


async def _through_nodes(id_: str, messages: list[Any], profile: str, bench: Any) -> Counter[str]:
    turn, counts = bench.turn(profile, f"{profile}/{id_}"), Counter({"conversations through the nodes": 1})
    carried: Carried = {}
    new: list[Any] = []
    for index, message in enumerate(messages):
        new.append(message)
        if message.type == "human":
            state = {**carried, "messages": [*carried.get("messages", []), *new]}
            prompt = await bench.assembled(state, turn, budget=3000)
            counts.update(f"fault: {fault}" for fault in faults(prompt, 3000, message))
        if index + 1 == len(messages) or messages[index + 1].type == "human":
            carried = await settled(carried, new, turn)
            new = []
    said = {str(message.id): message for message in messages if not is_empty(message)}
    kept = await turn.user.archive.whole_messages(turn.thread_id, list(said))
    changed = sum(id_ in kept and message_text(kept[id_]) != message_text(said[id_]) for id_ in said)
    counts.update(
        {"fault: not in the archive": len(said.keys() - kept.keys()), "fault: changed in the archive": changed}
    )
    return counts


PARTS: dict[str, Callable[[argparse.Namespace], Awaitable[Any]]] = {
    "cost": cost, "survival": survival, "summarizer": summarizer, "rouge": against_lead, "stress": stress,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=lambda text: text.split(","), default=list(PARTS), metavar="NAME,NAME")
    parser.add_argument("--conversations", type=int, default=2, help="of LoCoMo and BEAM, for survival and summarizer")
    parser.add_argument("--turns", type=int, default=500, help="cost: turns of one conversation")
    parser.add_argument("--lengths", type=lambda text: [int(n) for n in text.split(",")], default=[25, 50, 100, 200])
    parser.add_argument("--questions", type=int, default=25, help="survival: of each conversation at each length")
    parser.add_argument("--budget", type=int, default=3000, help="survival: tokens of a prompt")
    parser.add_argument("--words-only", action="store_true", help="survival: recall by words alone, which is quick")
    parser.add_argument("--batches", type=int, default=20, help="summarizer: summaries of each conversation")
    parser.add_argument("--model", default="smollm2", help="summarizer: smollm2, or the path of a GGUF file")
    parser.add_argument("--nodes", type=int, default=20, help="stress: each so-manieth also through the nodes; 0: none")
    parser.add_argument("--data", type=Path, help="a file in the form of LoCoMo")
    parser.add_argument("--summaries", type=Path, default=DATA / "summarization", help="a folder of dialogues")
    parser.add_argument("--odd", type=Path, default=DATA / "stress" / "stress_conversations.jsonl")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    if unknown := set(options.part) - PARTS.keys():
        parser.error(f"unknown part: {', '.join(sorted(unknown))}; known are {', '.join(PARTS)}")
    figures = {part: asyncio.run(PARTS[part](options)) for part in options.part}
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
