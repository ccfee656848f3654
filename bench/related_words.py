"""Writes `text/data/related.json`, the words that are near to each other in meaning: `python -m bench.related_words`.

The words are those of the vocabulary of the default embedding model, English stop words aside, each embedded by
itself; words of one stem stand together, by the commonest of them. Words that people use for one thing
(`everyday_words.txt`, a group a line, written for this: "truck lorry") count nearly as much as the word itself, however
their vectors lie. It takes a minute.
"""

from __future__ import annotations

import argparse
import json
from itertools import permutations
from pathlib import Path
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from everthread.models.bundled_weights import BUNDLED_MODEL, weights_folder
from everthread.models.embedding_models import load_embeddings
from everthread.text.data import FOLDER
from everthread.text.stems import stem
from everthread.text.stop_words import stop_words
from everthread.text.terms import ENGLISH

ALIKE: Final = 0.6
"""The cosine from which words are related."""

MOST: Final = 8
"""Related stems that a stem has, the nearest."""

SAME: Final = 90
"""What words of one group count, in hundredths; by trial of 60, 75 and 90."""

GROUPS: Final = Path(__file__).with_name("everyday_words.txt")

_WORD: Final = regex.compile("[a-z]{3,}")
_AT_ONCE: Final = 512


def commonest() -> dict[str, str]:
    """The commonest word of each stem; the vocabulary has the common words first."""
    vocabulary = json.loads((weights_folder() / "tokenizer.json").read_text())["model"]["vocab"]
    words = [word for word in sorted(vocabulary, key=vocabulary.__getitem__) if _WORD.fullmatch(word)]
    return {stem(word, ENGLISH): word for word in reversed(words) if word not in stop_words(ENGLISH)}


def neighbours(stems: list[str], vectors: NDArray[np.float32]) -> dict[str, str]:
    """For each stem those that are near to it, with their cosines in hundredths: "dog:80 anim:76"."""
    near = {}
    for start in range(0, len(stems), _AT_ONCE):
        cosines = vectors[start : start + _AT_ONCE] @ vectors.T
        for row, cosine in enumerate(cosines):
            cosine[start + row] = 0
            best = np.argsort(-cosine, kind="stable")[:MOST]
            if found := [f"{stems[n]}:{100 * cosine[n]:.0f}" for n in best if cosine[n] >= ALIKE]:
                near[stems[start + row]] = " ".join(found)
    return dict(sorted(near.items()))


def with_everyday(near: dict[str, str]) -> dict[str, str]:
    """The same, with the words of each group of `everyday_words.txt` beside each other."""
    found = {one: dict(pair.split(":") for pair in pairs.split()) for one, pairs in near.items()}
    for line in GROUPS.read_text().splitlines():
        for one, other in permutations(dict.fromkeys(stem(word, ENGLISH) for word in line.split()), 2):
            known = found.setdefault(one, {})
            known[other] = str(max(SAME, int(known.get(other, 0))))
    nearest = {one: sorted(pairs.items(), key=lambda pair: -int(pair[1])) for one, pairs in found.items()}
    return {one: " ".join(map(":".join, pairs)) for one, pairs in sorted(nearest.items())}


def main() -> None:
    """Write the file."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    words = commonest()
    vectors = np.array(load_embeddings(BUNDLED_MODEL).embed_documents(list(words.values())), np.float32)
    file = FOLDER / "related.json"
    file.write_text(json.dumps(with_everyday(neighbours(list(words), vectors)), indent=0, separators=(",", ":")) + "\n")
    print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
