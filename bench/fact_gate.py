"""The gate for facts of real chats: `python -m bench.fact_gate [--train]`; the latter makes `text/data/lasting.json`.

What the word lists take from English messages was labelled by reading: `fact_labels.txt` has a label and the hash of
each clause, so that no text of a set stands here (`+`: it lasts, is about the user, and is understood alone). A third
of the conversations of each set, by a hash of their names, is kept apart. The gate is trained on the others of the sets
whose licence allows it (LongMemEval, MemoryBank, QMSum, tau-bench and the 13 chats of XPersona that facts are tuned
on), on `fact_clauses.txt`, without its part kept apart, and on `fact_chat.txt`, both written for this. Of LoCoMo,
MultiChallenge and BEAM it has only its bound from the other conversations. A name, a job or a home passes by, a taste
does not (`facts.lasting.may_pass`).

To train takes scikit-learn and safetensors, and a few seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.datasets import DATA, SETS
from bench.fact_clauses import Part, labelled, part_of
from bench.facts import DEV
from bench.facts import FILE as XPERSONA
from everthread.facts import extraction
from everthread.facts.extraction import Occasion, extract
from everthread.facts.language import language_in, languages
from everthread.facts.lasting import SIGNS, lasts, may_pass, signs
from everthread.models.bundled_weights import MINILM, weights_folder
from everthread.state.fact_records import FactKind
from everthread.state.records import now
from everthread.text.data import FOLDER

LABELS = Path(__file__).with_name("fact_labels.txt")
OWN = Path(__file__).with_name("fact_chat.txt")
TRAINED_ON = ("longmemeval", "memorybank", "xpersona", "qmsum", "tau-bench")
MEASURED_ON = ("locomo", "multichallenge", "beam")
SCALE = 2.0
"""By what word vectors are multiplied, so that they are not held back as much as signs."""
STRENGTH = 1.0
KEPT = 0.9
"""How much of what lasts and may be dropped is kept of the conversations that the bound is from."""
WORDS = 12_000
"""Words that may have a weight: the first of the model's vocabulary, which are the most usual ones."""


class Labelled(NamedTuple):
    """A clause that the word lists take, or one written for this, and whether it lasts."""

    source: str
    text: str
    kind: FactKind
    attribute: str | None
    lasts: bool
    part: Part = "tune"

    @property
    def plain(self) -> str:
        return languages()["en"].normalized(self.text)

    @property
    def is_told(self) -> bool:
        return lasts(self.text, self.plain, self.kind, "en", self.attribute)


def messages(source: str) -> Iterator[tuple[str, str]]:
    """What people say in a set, each with the name of its conversation."""
    if source in SETS:
        for haystack in SETS[source](None):
            for name, thread in haystack.threads.items():
                told = (m.text for m in thread if m.type == "human" or m.name)
                yield from ((f"{source}/{haystack.name}/{name}", text) for text in told)
    elif source == "xpersona":
        chats = [chat for line in XPERSONA.read_text().splitlines() if (chat := json.loads(line))["lang"] == "en"]
        yield from ((f"xpersona/{chat['id']}", m["text"]) for chat in chats[:DEV] for m in chat["messages"])
    elif source == "memorybank":
        for user in _records("memorybank/memorybank_en.jsonl"):
            yield from ((f"mb/{user['user']}", turn["user"]) for day in user["days"] for turn in day["turns"])
    elif source == "qmsum":
        for meeting in _records("summarization/qmsum_test12.jsonl"):
            yield from ((f"qmsum_test12/{meeting['id']}", m["text"]) for m in meeting["messages"])
    else:
        file, name = (
            ("stress/stress_conversations", "st") if source == "tau-bench" else (f"{source}/{source}_memory", "mc")
        )
        for chat in _records(f"{file}.jsonl"):
            if chat.get("source") in {None, source}:
                own = (m["content"] or "" for m in chat["messages"] if m["role"] == "user")
                yield from ((f"{name}/{chat['id']}", text) for text in own)


def _records(path: str) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, (DATA / path).read_text().splitlines())


def of_chats(sources: Iterable[str]) -> list[Labelled]:
    """The labelled clauses of these sets, each once."""
    labels = {hashed: label == "+" for label, hashed in map(str.split, LABELS.read_text().splitlines())}
    extraction.lasts = lambda *_: True  # what the lists take, without the gate
    found: dict[str, Labelled] = {}
    for source in sources:
        for conversation, text in messages(source):
            language = language_in(text)
            for fact in extract(text, Occasion("t", "m", now())) if language and language.code == "en" else ():
                hashed = hashlib.sha256(fact.text.encode()).hexdigest()[:12]
                if hashed in labels:
                    item = Labelled(source, fact.text, fact.kind, fact.attribute, labels[hashed], part_of(conversation))
                    found.setdefault(fact.text, item)
    extraction.lasts = lasts
    return list(found.values())


def written(part: Part = "tune") -> list[Labelled]:
    """The sentences written for this: those that are trained on, or those of `fact_clauses.txt` that are kept apart."""
    clauses = [(s.is_fact, s.text) for s in labelled(part) if s.language == "en"]
    if part == "tune":
        clauses += [(line[0] == "+", line[2:]) for line in OWN.read_text().splitlines()]
    extraction.lasts = lambda *_: True
    items = [_written(text, is_fact) for is_fact, text in clauses]
    extraction.lasts = lasts
    return items


def _written(text: str, is_fact: bool) -> Labelled:
    fact = next(iter(extract(text, Occasion("t", "m", now()))), None)
    kind, attribute = (fact.kind, fact.attribute) if fact else (_kind(text), None)
    return Labelled("own", text, kind, attribute, is_fact)


def _kind(text: str) -> FactKind:
    language = languages()["en"]
    plain = language.normalized(text)
    return next((k for k in ("preference", "goal") if language.predicates[k].search(plain)), "biography")


def trained(items: list[Labelled], bound_from: list[Labelled]) -> dict[str, Any]:
    """The weights, as `lasting.json` has them, from clauses; the bound from those of other conversations."""
    from safetensors.numpy import load_file
    from sklearn.linear_model import LogisticRegression

    folder = weights_folder(MINILM)
    vectors = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"].astype(np.float32)
    vectors *= SCALE / np.linalg.norm(vectors, axis=1, keepdims=True)
    vocabulary = (folder / "vocab.txt").read_text().splitlines()
    places = {word: n for n, word in enumerate(vocabulary) if word.isalpha() and word.isascii()}
    places = dict(list(places.items())[:WORDS])
    nothing = np.zeros(vectors.shape[1], np.float32)

    def row(item: Labelled) -> Any:
        words = item.plain.split()
        total = sum((vectors[places[word]] for word in words if word in places), nothing)
        found = signs(item.text, item.plain, item.kind, item.attribute, places)
        return np.concatenate([total / max(1, len(words)) ** 0.5, found])

    items = [item for item in items if may_pass(item.kind, item.attribute)]
    model = LogisticRegression(C=STRENGTH, max_iter=3000)
    model.fit(np.array([row(item) for item in items]), [item.lasts for item in items])
    lasting = [row(item) for item in bound_from if item.lasts and may_pass(item.kind, item.attribute)]
    of_words, of_signs = np.split(model.coef_[0], [vectors.shape[1]])
    hundredths = {word: round(100 * float(vectors[n] @ of_words)) for word, n in places.items()}
    return {
        "least": round(float(np.quantile(model.decision_function(lasting), 1 - KEPT)), 3),
        "constant": round(float(model.intercept_[0]), 3),
        "signs": {name: round(float(value), 3) for name, value in zip(SIGNS, of_signs, strict=True)},
        "words": " ".join(f"{word}:{weight}" for word, weight in hundredths.items()),
    }


def table() -> dict[str, Any]:
    """What share of the labelled clauses lasts, before and behind the gate, and how many of these are kept."""
    figures: dict[str, Any] = {}
    print("| | clauses | lasting, % | behind the gate, % | lasting ones kept, % |\n|---|---|---|---|---|")
    groups = {"trained on": TRAINED_ON, "the others": MEASURED_ON} | {name: (name,) for name in MEASURED_ON}
    sets: dict[str, list[Labelled]] = {}
    for name, sources in groups.items():
        items = of_chats(sources)
        for part in ("tune", "kept"):
            sets[f"{name}, {part}"] = [item for item in items if item.part == part]
    sets["sentences kept apart"] = [item for item in written("kept") if item.lasts]
    for name, items in sets.items():
        kept = [item for item in items if item.is_told]
        right, right_kept = sum(i.lasts for i in items), sum(i.lasts for i in kept)
        row = (len(items), 100 * right / len(items), 100 * right_kept / len(kept), 100 * right_kept / right)
        figures[name] = dict(zip(("clauses", "before", "behind", "kept"), row, strict=True))
        print(f"| {name} | {row[0]} | {row[1]:.1f} | {row[2]:.1f} | {row[3]:.1f} |")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", action="store_true", help="make the weights anew")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    if options.train:
        chats, bound_from = (
            [item for item in of_chats(sources) if item.part == "tune"] for sources in (TRAINED_ON, MEASURED_ON)
        )
        data = {"en": trained([*chats, *written()], bound_from)}
        (FOLDER / "lasting.json").write_text(json.dumps(data, indent=0) + "\n")
        return
    figures = table()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
