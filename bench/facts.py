"""Facts without a model: `python -m bench.facts [--part test] [--json FILE] [--show LANG] [--latency] [--prompts]`.

What needs no data comes first: the sentences of `fact_clauses.txt` and the changes of `fact_changes.txt`, as
`fact_clauses.py` measures them, each in the part that was tuned on and the part that was kept apart.

XPersona: chats of two people, and what is known about one of them. A known fact is found if one extracted fact holds at
least half of its content words (stems; pairs of syllables in Korean, the
characters but kana and a few words in Chinese and Japanese). Not every one is said in
its chat: so `ceiling` is the share found if every sentence of that person were a fact. `matching` is the share of the
extracted facts that find one, beside the same for all sentences: a lower bound of the precision, because people also
say what is not listed. `kept` is the share of the person's sentences that gave a fact. `questions` are those of the
search gate's data: how many requests and questions to an assistant wrongly give a fact.

The first 13 chats of each language were looked at while the patterns were written (`--part dev`); the others were not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from bench.datasets import DATA
from bench.fact_clauses import PLAIN, agreement, changes, labelled, scores
from bench.fact_prompts import prompt_tokens
from bench.server_folder import server_folder
from everthread import Settings
from everthread.facts.extraction import Occasion, extract
from everthread.facts.language import languages
from everthread.facts.read_archive import read_batch
from everthread.facts.words import content_terms
from everthread.runtime.facts import known_facts
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.state.records import now
from everthread.text.extractive import sentences

FILE = DATA / "fact_extraction" / "xpersona_7lang.jsonl"
QUESTIONS = DATA / "search_need" / "search_need_dev.jsonl"
DEV = 13
CONTENT = re.compile("[\u30a1-\u30fa\u3400-\u9fff\\d](?<![我的是了在不有也很和])")


def chats(file: Path, part: str) -> dict[str, list[dict[str, Any]]]:
    by_language: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in file.read_text().splitlines():
        record = json.loads(line)
        by_language[record["lang"]].append(record)
    cut = {"dev": slice(0, DEV), "test": slice(DEV, None), "all": slice(None)}[part]
    return {language: records[cut] for language, records in by_language.items()}


def terms(text: str, language: str) -> set[str]:
    if language in {"zh", "ja"}:
        return set(CONTENT.findall(text))
    known = languages().get(language)
    return set(content_terms(text, known)) or set(content_terms(text))


def found(wanted: set[str], texts: Iterable[set[str]]) -> bool:
    return any(len(wanted & text) >= 0.5 * len(wanted) for text in texts)


def measure(records: list[dict[str, Any]], language: str) -> dict[str, float]:
    count: dict[str, float] = defaultdict(float)
    for record in records:
        said = [m["text"] for m in record["messages"] if m["speaker"] == record["facts_about"]]
        facts = [f.text for n, text in enumerate(said) for f in extract(text, Occasion("t", str(n), now()))]
        every = [s for text in said for s in sentences(text)]
        known = [terms(fact, language) for fact in record["facts"]]
        ours, all_terms = [terms(f, language) for f in facts], [terms(s, language) for s in every]
        count["facts"] += len(known)
        count["found"] += sum(found(k, ours) for k in known)
        count["possible"] += sum(found(k, all_terms) for k in known)
        count["extracted"] += len(ours)
        count["matching"] += sum(any(found(k, [t]) for k in known) for t in ours)
        count["sentences"] += len(every)
        count["sentences_matching"] += sum(any(found(k, [t]) for k in known) for t in all_terms)
    return {
        "facts": count["facts"],
        "recall": count["found"] / count["facts"],
        "ceiling": count["possible"] / count["facts"],
        "matching": count["matching"] / max(1, count["extracted"]),
        "matching_of_all": count["sentences_matching"] / count["sentences"],
        "kept": count["extracted"] / count["sentences"],
    }


def false_alarms(file: Path) -> dict[str, float]:
    seen: dict[str, list[bool]] = defaultdict(list)
    for line in file.read_text().splitlines():
        record = json.loads(line)
        seen[record["lang"]].append(bool(extract(record["query"], Occasion("t", "q", now()))))
    return {language: sum(hits) / len(hits) for language, hits in seen.items()} | {
        "all": sum(map(sum, seen.values())) / sum(map(len, seen.values()))
    }


def told() -> dict[str, Any]:
    """What needs no data: sentences and changes, of both parts."""
    number, alike, kappa = agreement()
    figures: dict[str, Any] = {"labellers": {"sentences": number, "alike": alike, "kappa": kappa}}
    print(f"two labellers, {number} sentences: alike {alike:.3f}, kappa {kappa:.3f}")
    plain = scores(labelled(file=PLAIN))["all"]
    figures["plain"] = plain.recall
    print(f"plain self-descriptions that give a fact: {plain.right} of {plain.facts}")
    for part in ("tune", "kept"):
        by_language = scores(labelled(part))
        pairs = changes(part)
        figures[part] = {
            "sentences": {k: {"precision": s.precision, "recall": s.recall} for k, s in by_language.items()},
            "changes": sum(pair.is_right for pair in pairs) / len(pairs),
        }
        print(f"{part}: changes {figures[part]['changes']:.3f}; precision and recall of sentences:")
        print("  " + ", ".join(f"{k} {s.precision:.3f} {s.recall:.3f}" for k, s in by_language.items()))
    return figures


def show(records: list[dict[str, Any]], language: str) -> None:
    for record in records:
        print(f"== {record['id']}")
        texts = [m["text"] for m in record["messages"] if m["speaker"] == record["facts_about"]]
        facts = [(text, extract(text, Occasion("t", str(n), now()))) for n, text in enumerate(texts)]
        ours = [terms(f.text, language) for _, some in facts for f in some]
        for fact in record["facts"]:
            print("   ", "found " if found(terms(fact, language), ours) else "MISSED", fact)
        for text, some in facts:
            print("       ", re.sub(r"\s+", " ", text))
            for f in some:
                print("            ->", f.kind, f.subject, f.attribute, f.value, "NOT" * f.negated, "|", f.text)


async def latency(known: int) -> dict[str, float]:
    """Milliseconds that facts add to a turn of a user with this many, on the embedded server; medians of 50."""
    with server_folder() as folder:
        settings = Settings(data_dir=folder, user_id="bench")
        resources = Resources(settings)
        turn = Turn(resources, settings, {"configurable": {"thread_id": "t"}})
        try:
            said = [HumanMessage(f"I collect stamps of country number {n}.", id=f"m{n}") for n in range(known)]
            told, noticed = [], []
            await turn.user.archive.add_messages("t", said)
            while (await read_batch(turn.user.facts, None))[1]:
                pass
            for n in range(50):
                question = HumanMessage(
                    f"I moved to city number {n}. Which stamps do I have of country {n}?", id=f"q{n}"
                )
                started = time.perf_counter()
                await known_facts([question], turn)
                told.append(time.perf_counter() - started)
                await turn.user.archive.add_messages("t", [question])
                started = time.perf_counter()
                await read_batch(turn.user.facts, None)
                noticed.append(time.perf_counter() - started)
        finally:
            await resources.close()
    return {"before_ms": 1000 * statistics.median(told), "after_ms": 1000 * statistics.median(noticed)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=FILE, help="chats in the form of XPersona")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="questions in the form of the search gate's")
    parser.add_argument("--part", choices=["dev", "test", "all"], default="test")
    parser.add_argument("--show", metavar="LANG", help="print what is found and missed in this language")
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--latency", action="store_true", help="measure what facts add to a turn instead")
    parser.add_argument("--prompts", action="store_true", help="count the tokens of facts in LoCoMo's prompts as well")
    options = parser.parse_args()
    if options.latency:
        for known in (10, 1000, 10_000):
            row = asyncio.run(latency(known))
            print(f"{known} facts: {row['before_ms']:.1f} ms before the reply, {row['after_ms']:.1f} ms after it")
        return
    labels = {} if options.show else told()
    if not options.data.is_file():
        return
    sets = chats(options.data, options.part)
    if options.show:
        show(sets[options.show], options.show)
        return
    started = time.perf_counter()
    figures: dict[str, Any] = {language: measure(records, language) for language, records in sets.items()}
    seconds = time.perf_counter() - started
    names = ("recall", "ceiling", "matching", "matching_of_all", "kept")
    figures["mean"] = {name: sum(f[name] for f in figures.values()) / len(sets) for name in names}
    print("language " + " ".join(f"{name:>16}" for name in names))
    for language, row in figures.items():
        print(f"{language:8} " + " ".join(f"{row[name]:16.3f}" for name in names))
    print(f"{seconds:.2f} s")
    if options.questions.is_file():
        figures["questions"] = false_alarms(options.questions)
        print("questions that give a fact: " + ", ".join(f"{k} {v:.1%}" for k, v in figures["questions"].items()))
    figures["labelled"] = labels
    if options.prompts:
        figures["tokens"] = asyncio.run(prompt_tokens())
        print("tokens of facts in a prompt: " + ", ".join(f"{k} {v:.0f}" for k, v in figures["tokens"].items()))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
