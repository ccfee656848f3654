"""What the summaries of LoCoMo's conversations keep, by level: `python -m bench.summary_coverage`.

Each conversation goes through the profile `multi_strategy` with the extractive summarizer, message by message. LoCoMo
lists the events of each session, and a summary of it. Of the sessions whose messages a summary stands for:

- `events`, `sessions`: the share of the content words of these that the summary holds (by session, then the mean),
- `span`: the share of these sessions of which it holds at least a tenth of the words of the session's summary that no
  other session has: whether it covers the whole or only its end,
- `alone`: the share of its sentences that have at least four content words and are no caption of a photo.

Beside it lead-3: of the first three turns (of the first texts, on higher levels), as many tokens. The levels go up to
the master summary; of a higher level only the last summary of each conversation counts, which stands for most.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.compressed import Compressed
from bench.datasets import DATA, locomo
from everthread import Settings
from everthread.state.records import MASTER_LEVEL, Summary
from everthread.text.sentences import sentences
from everthread.text.shorten import truncate_to_tokens
from everthread.text.terms import terms
from everthread.text.tokens import estimate_tokens

FILE = DATA / "locomo" / "locomo_dev7.json"
OWN = 0.1
FEW = 4


def words(text: str) -> set[str]:
    return set(terms(text, "en"))


class Session:
    """What LoCoMo tells of one session."""

    def __init__(self, record: dict[str, Any], number: int) -> None:
        told = record["event_summary"].get(f"events_session_{number}", {})
        self.events = words(" ".join(e for name, es in told.items() if name != "date" for e in es))
        self.summary = words(record["session_summary"].get(f"session_{number}_summary", ""))
        self.own: set[str] = set()


def sessions_of(record: dict[str, Any]) -> dict[int, Session]:
    numbers = (int(m[1]) for key in record["conversation"] if (m := re.fullmatch(r"session_(\d+)", key)))
    found = {number: Session(record, number) for number in sorted(numbers)}
    often = Counter(word for one in found.values() for word in one.summary)
    for one in found.values():
        one.own = {word for word in one.summary if often[word] == 1}
    return found


def share(wanted: set[str], text: set[str]) -> float | None:
    return len(wanted & text) / len(wanted) if wanted else None


def mean(values: Iterable[float | None]) -> float:
    return fmean([value for value in values if value is not None] or [0.0])


def measured(text: str, covered: Sequence[Session]) -> dict[str, float]:
    held = words(text)
    pieces = [words(re.sub(r"^\S+: ", "", piece)) for piece in sentences(text)]
    return {
        "events": mean(share(one.events, held) for one in covered),
        "sessions": mean(share(one.summary, held) for one in covered),
        "span": mean(float(len(one.own & held) >= OWN * len(one.own)) for one in covered if one.own),
        "alone": mean(float(len(piece) >= FEW and "photo" not in piece) for piece in pieces),
        "tokens": float(estimate_tokens(text)),
    }


async def conversation(record: dict[str, Any], messages: list[Any]) -> dict[str, dict[str, list[dict[str, float]]]]:
    talk, sessions = Compressed(Settings()), sessions_of(record)
    for message in messages:
        talk.take(message)
        await talk.settle()
    said = {str(m.id): m for m in messages}
    raw: dict[str, list[str]] = {}

    def down(id_: str) -> list[str]:
        if id_ in said:
            return [id_]
        if id_ not in raw:
            raw[id_] = [one for source in talk.made[id_].source_ids for one in down(source)]
        return raw[id_]

    rows: dict[str, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    by_level: dict[int, list[Summary]] = defaultdict(list)
    for summary in talk.made.values():
        by_level[summary.level].append(summary)
    for level, made in by_level.items():
        name = "master" if level == MASTER_LEVEL else f"level {level}"
        for summary in made[-1:] if level == MASTER_LEVEL else made:
            ids = sorted(set(down(summary.id)), key=list(said).index)
            covered = [sessions[number] for number in dict.fromkeys(int(re.findall(r"\d+", id_)[0]) for id_ in ids)]
            lead = " ".join(f"{said[id_].name}: {said[id_].text}" for id_ in ids)
            rows[name]["extractive"].append(measured(summary.content, covered))
            rows[name]["lead"].append(measured(truncate_to_tokens(lead, estimate_tokens(summary.content)), covered))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=FILE)
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--show", action="store_true", help="print the master summaries")
    options = parser.parse_args()
    found: dict[str, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for record, haystack in zip(json.loads(options.data.read_text()), locomo(options.data), strict=True):
        messages = [message for thread in haystack.threads.values() for message in thread]
        for level, by_maker in asyncio.run(conversation(record, messages)).items():
            for maker, rows in by_maker.items():
                found[level][maker] += rows
    figures = {
        level: {
            maker: {name: fmean(row[name] for row in rows) for name in rows[0]} | {"summaries": len(rows)}
            for maker, rows in by_maker.items()
        }
        for level, by_maker in found.items()
    }
    names = ("events", "sessions", "span", "alone", "tokens")
    print("| | | " + " | ".join(names) + " | summaries |\n" + "|---" * (len(names) + 3) + "|")
    for level, by_maker in sorted(figures.items()):
        for maker, row in by_maker.items():
            shares = " | ".join(f"{row[n] if n == 'tokens' else 100 * row[n]:.1f}" for n in names)
            print(f"| {level} | {maker} | {shares} | {row['summaries']} |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
