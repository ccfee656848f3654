"""The gate for facts of real chats: `python -m bench.fact_gate [--train]`; the latter makes `text/data/lasting.json`.

What the word lists take from English messages was labelled by reading: `fact_labels.txt` has a label and the hash of
each clause, so that no text of a set stands here (`+`: it lasts, is about the user, and is understood alone). The gate
is trained on the sets whose licence allows it (LongMemEval, MemoryBank, the 13 chats of XPersona that facts are tuned
on), on `fact_clauses.txt`, without its part kept apart, and on `fact_chat.txt`, both written for this. It is measured
on LoCoMo, MultiChallenge and BEAM, which it has not seen. What has an attribute (a name, a job, a taste) passes by.

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
from bench.fact_clauses import labelled
from bench.facts import DEV
from bench.facts import FILE as XPERSONA
from everthread.facts import extraction
from everthread.facts.extraction import Occasion, extract
from everthread.facts.language import languages
from everthread.facts.lasting import SIGNS, lasts, signs
from everthread.models.bundled_weights import MINILM, weights_folder
from everthread.state.fact_records import FactKind
from everthread.state.records import now
from everthread.text.data import FOLDER

LABELS = Path(__file__).with_name("fact_labels.txt")
OWN = Path(__file__).with_name("fact_chat.txt")
TRAINED_ON = ("longmemeval", "memorybank", "xpersona")
MEASURED_ON = ("locomo", "multichallenge", "beam")
OWN_WEIGHT = 0.5
"""What a sentence written for this counts beside one of a real chat."""
SCALE = 2.0
"""By what word vectors are multiplied, so that they are not held back as much as signs."""
STRENGTH = 1.0
KEPT = 0.95
"""How many of the lasting clauses of chats a gate keeps that is trained on nine tenths without them."""
WORDS = 12_000
"""Words that may have a weight: the first of the model's vocabulary, which are the most usual ones."""


class Labelled(NamedTuple):
    """A clause that the word lists take, or one written for this, and whether it lasts."""

    source: str
    text: str
    kind: FactKind
    lasts: bool

    @property
    def plain(self) -> str:
        return languages()["en"].normalized(self.text)


def messages(source: str) -> Iterator[str]:
    """What people say in a set."""
    if source in SETS:
        for haystack in SETS[source](None):
            yield from (m.text for thread in haystack.threads.values() for m in thread if m.type == "human" or m.name)
    elif source == "xpersona":
        chats = [chat for line in XPERSONA.read_text().splitlines() if (chat := json.loads(line))["lang"] == "en"]
        yield from (message["text"] for chat in chats[:DEV] for message in chat["messages"])
    elif source == "memorybank":
        for line in (DATA / "memorybank" / "memorybank_en.jsonl").read_text().splitlines():
            yield from (turn["user"] for day in json.loads(line)["days"] for turn in day["turns"])
    else:
        for line in (DATA / "multichallenge" / "multichallenge_memory.jsonl").read_text().splitlines():
            yield from (m["content"] for m in json.loads(line)["messages"] if m["role"] == "user")


def of_chats(sources: Iterable[str]) -> list[Labelled]:
    """The labelled clauses of these sets, each once."""
    labels = {hashed: label == "+" for label, hashed in map(str.split, LABELS.read_text().splitlines())}
    extraction.lasts = lambda *_: True  # what the lists take, without the gate
    found = {}
    for source in sources:
        for text in messages(source):
            for fact in extract(text, Occasion("t", "m", now())):
                hashed = hashlib.sha256(fact.text.encode()).hexdigest()[:12]
                if fact.attribute is None and hashed in labels:
                    found[fact.text] = Labelled(source, fact.text, fact.kind, labels[hashed])
    extraction.lasts = lasts
    return list(found.values())


def written() -> list[Labelled]:
    """The sentences written for this, without those that are kept apart."""
    clauses = [(s.is_fact, s.text) for s in labelled("tune") if s.language == "en"]
    clauses += [(line[0] == "+", line[2:]) for line in OWN.read_text().splitlines()]
    return [Labelled("own", text, _kind(text), is_fact) for is_fact, text in clauses]


def _kind(text: str) -> FactKind:
    language = languages()["en"]
    plain = language.normalized(text)
    return next((k for k in ("preference", "goal") if language.predicates[k].search(plain)), "biography")


def trained(items: list[Labelled]) -> dict[str, Any]:
    """The weights, as `lasting.json` has them."""
    from safetensors.numpy import load_file
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

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
        return np.concatenate([total / max(1, len(words)) ** 0.5, signs(item.text, item.plain, item.kind)])

    rows, wanted = np.array([row(item) for item in items]), [item.lasts for item in items]
    weights = [OWN_WEIGHT if item.source == "own" else 1.0 for item in items]
    model = LogisticRegression(C=STRENGTH, max_iter=3000)
    odds = cross_val_predict(
        model, rows, wanted, cv=10, method="decision_function", params={"sample_weight": np.array(weights)}
    )
    model.fit(rows, wanted, sample_weight=weights)
    of_words, of_signs = np.split(model.coef_[0], [vectors.shape[1]])
    real = [value for value, item in zip(odds, items, strict=True) if item.lasts and item.source != "own"]
    hundredths = {word: round(100 * float(vectors[n] @ of_words)) for word, n in places.items()}
    return {
        "least": round(float(np.quantile(real, 1 - KEPT)), 3),
        "constant": round(float(model.intercept_[0]), 3),
        "signs": {name: round(float(value), 3) for name, value in zip(SIGNS, of_signs, strict=True)},
        "words": " ".join(f"{word}:{weight}" for word, weight in hundredths.items() if weight),
    }


def table() -> dict[str, Any]:
    """What share of the labelled clauses lasts, before and behind the gate, and how many of these are kept."""
    figures: dict[str, Any] = {}
    print("| | clauses | lasting, % | behind the gate, % | lasting ones kept, % |\n|---|---|---|---|---|")
    sentences = [s for s in labelled("kept") if s.language == "en" and s.is_fact]
    apart = [Labelled("sentences kept apart", s.text, _kind(s.text), True) for s in sentences]
    for source in (*TRAINED_ON, *MEASURED_ON, "sentences kept apart"):
        items = apart if source == "sentences kept apart" else of_chats([source])
        kept = [item for item in items if lasts(item.text, item.plain, item.kind, "en")]
        right, right_kept = sum(i.lasts for i in items), sum(i.lasts for i in kept)
        row = (len(items), 100 * right / len(items), 100 * right_kept / len(kept), 100 * right_kept / right)
        figures[source] = dict(zip(("clauses", "before", "behind", "kept"), row, strict=True))
        print(f"| {source} | {row[0]} | {row[1]:.1f} | {row[2]:.1f} | {row[3]:.1f} |")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", action="store_true", help="make the weights anew")
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    if options.train:
        data = {"en": trained(of_chats(TRAINED_ON) + written())}
        (FOLDER / "lasting.json").write_text(json.dumps(data, indent=0) + "\n")
        return
    figures = table()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
