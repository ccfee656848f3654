"""Sentences that are labelled, and how facts by patterns do on them: precision and recall, by language.

`fact_clauses.txt` was written for this, by one hand, and read again in part (`fact_clauses_second.txt`): a label, a
language and a text in each line. `+` tells something
lasting of the user, or of somebody of theirs, that can be understood alone; `-` does not. A third, by a hash of the
text, is kept apart: nothing was tuned on it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from everthread.facts.extraction import Occasion, extract
from everthread.facts.ledger import merge
from everthread.state.records import now

FILE = Path(__file__).with_name("fact_clauses.txt")
SECOND = FILE.with_name("fact_clauses_second.txt")
PLAIN = FILE.with_name("fact_plain.txt")
"""The same twenty things told of oneself in each language: a name, a job, a home, a pet, a habit; all are facts."""
CHAT = FILE.with_name("fact_chat_languages.txt")
"""What chat is full of in other languages than English, and what lasts beside it; the lists were mended with these."""
Part = Literal["tune", "kept"]


class LabelledText(NamedTuple):
    """A sentence, its language, and whether it is a fact."""

    is_fact: bool
    language: str
    text: str


class Score(NamedTuple):
    """How many were taken for facts, rightly or not, and how many are facts."""

    right: int
    taken: int
    facts: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.taken)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.facts)


def part_of(text: str) -> Part:
    """Which part a text belongs to: a third is kept apart."""
    return "kept" if hashlib.sha256(text.encode()).digest()[0] % 3 == 0 else "tune"


def labelled(part: Part | None = None, file: Path = FILE) -> list[LabelledText]:
    """The labelled sentences, of one part or of both."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    found = [LabelledText(label == "+", language, text) for label, language, text in rows]
    return [item for item in found if part is None or part_of(item.text) == part]


def scores(items: list[LabelledText]) -> dict[str, Score]:
    """What the patterns make of the sentences, by language and of all."""
    by_language: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for item in items:
        taken = bool(extract(item.text, Occasion("t", "m", now())))
        by_language[item.language].append((taken, item.is_fact))
        by_language["all"].append((taken, item.is_fact))
    return {
        language: Score(
            sum(taken and fact for taken, fact in pairs),
            sum(taken for taken, _ in pairs),
            sum(fact for _, fact in pairs),
        )
        for language, pairs in by_language.items()
    }


def agreement(second: Path = SECOND) -> tuple[int, float, float]:
    """How many sentences two labellers read, the share they label alike, and Cohen's kappa.

    The second reading, of a random sample, was made without sight of the labels.
    """
    first = {(item.language, item.text): item.is_fact for item in labelled()}
    pairs = [(item.is_fact, first[item.language, item.text]) for item in labelled(file=second)]
    alike = sum(one == other for one, other in pairs) / len(pairs)
    ones, others = (sum(labels) / len(pairs) for labels in zip(*pairs, strict=True))
    chance = ones * others + (1 - ones) * (1 - others)
    return len(pairs), alike, (alike - chance) / (1 - chance)


CHANGES = Path(__file__).with_name("fact_changes.txt")


class Change(NamedTuple):
    """What was said first, what was said later, and what becomes of the first: it `ends`, `stays`, or is doubtful.

    "doubts": how many there are has changed, as both together tell ("two dogs", "we got a third one").
    """

    outcome: Literal["ends", "stays", "doubts"]
    language: str
    before: str
    after: str

    @property
    def is_right(self) -> bool:
        """Whether the first is known, and then told no longer, still, or beside the second."""
        said_at = now()
        first = extract(self.before, Occasion("t", "1", said_at))
        later = extract(self.after, Occasion("t", "2", said_at + timedelta(days=1)))
        ledger = merge(merge((), first), later)
        old = [fact for fact in ledger if fact.source_id == "1"]
        if self.outcome == "doubts":
            both = all(fact.is_open for fact in old) and len(old) < len(ledger)
            return both and any(fact.superseded_by for fact in old)
        kept = [fact for fact in old if fact.state == "current"]
        return bool(first) and (not kept if self.outcome == "ends" else len(kept) == len(first))


def changes(part: Part | None = None, file: Path = CHANGES) -> list[Change]:
    """Pairs of what changed and what did not; half of them are kept apart, by a hash of the second text."""
    found = [Change(*line.split("\t")) for line in file.read_text(encoding="utf-8").splitlines()]  # type: ignore[arg-type]  # as written
    halves = {"kept": 0, "tune": 1}
    return [c for c in found if part is None or hashlib.sha256(c.after.encode()).digest()[0] % 2 == halves[part]]
