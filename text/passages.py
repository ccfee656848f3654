"""The passages of a text that bear on a question, within a token budget: BM25 over windows of sentences.

The first characters of a page are seldom the answer; the words of the question, by how rare they are on the page, say
better where it stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from .bm25 import bm25
from .sentences import sentences
from .shorten import truncate_to_tokens
from .terms import search_terms
from .tokens import estimate_tokens

_PASSAGE_TOKENS: Final = 90
"""A passage is closed from this size on; it is the unit that is kept or left out."""
_MAX_PASSAGES: Final = 1500
_SENTENCE: Final = 600
"""Characters of one sentence; lists and tables have no full stops."""
_NEIGHBOUR: Final = 0.3
"""What a passage gets of the score of each of its neighbours: answers run over."""
_LEAD: Final = 0.4
"""What the first passage gets, in units of the best score: it tells what the page is about."""
GAP: Final = " … "
"""Stands where something was left out."""


class _Passage(NamedTuple):
    place: int
    text: str
    tokens: int


def relevant(text: str, question: str, max_tokens: int) -> str:
    """The text if it fits, else its passages that bear on the question, in their order, with "…" between them.

    Where nothing bears on the question, the start of the text.

    Args:
        text: one paragraph a line.
        question: what is asked.
        max_tokens: the limit by `estimate_tokens`.
    """
    flat = " ".join(text.split())
    if max_tokens <= 0:
        return ""
    if estimate_tokens(flat) <= max_tokens:
        return flat
    passages = list(_passages(text))
    scores = _scores([passage.text for passage in passages], question)
    if not any(scores):
        return truncate_to_tokens(flat, max_tokens)
    return _joined(passages, sorted(passages, key=lambda passage: -scores[passage.place]), max_tokens)


def _passages(text: str) -> list[_Passage]:
    """Sentences gathered to passages; the end of a paragraph closes one that is half full."""
    passages: list[_Passage] = []
    held: list[str] = []
    size = 0
    for sentence, ends_paragraph in _sentences(text):
        cost = estimate_tokens(sentence)
        if held and size + cost > 2 * _PASSAGE_TOKENS:
            passages.append(_Passage(len(passages), " ".join(held), size))
            held, size = [], 0
        held.append(sentence)
        size += cost
        if size >= (_PASSAGE_TOKENS // 2 if ends_paragraph else _PASSAGE_TOKENS):
            passages.append(_Passage(len(passages), " ".join(held), size))
            held, size = [], 0
        if len(passages) >= _MAX_PASSAGES:
            return passages
    return [*passages, _Passage(len(passages), " ".join(held), size)] if held else passages


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Each sentence on one line, and whether its paragraph ends with it; one that is very long comes in pieces."""
    for line in text.split("\n"):
        pieces = [
            " ".join(sentence[at : at + _SENTENCE].split())
            for sentence in sentences(line)
            for at in range(0, len(sentence), _SENTENCE)
        ]
        yield from ((piece, number == len(pieces)) for number, piece in enumerate(pieces, start=1) if piece)


def _scores(passages: Sequence[str], question: str) -> list[float]:
    """BM25 of each passage, with a part of its neighbours', and a little more for the first."""
    asked = list(dict.fromkeys(search_terms(question)))
    asked = asked or list(dict.fromkeys(search_terms(question, keep_stop_words=True)))
    counts = [Counter(search_terms(passage, keep_stop_words=True)) for passage in passages]
    frequencies = np.array([[count[term] for count in counts] for term in asked], dtype=float)
    alone = bm25(frequencies, np.array([max(1, len(passage)) for passage in passages], dtype=float)).tolist()
    around = [0.0, *alone, 0.0]
    scores = [own + _NEIGHBOUR * (around[at] + around[at + 2]) for at, own in enumerate(alone)]
    if scores and max(scores) > 0:
        scores[0] += _LEAD * max(scores)
    return scores


def _joined(passages: Sequence[_Passage], by_score: Sequence[_Passage], max_tokens: int) -> str:
    """The best passages that fit, in their order."""
    gap = estimate_tokens(GAP)
    kept: set[int] = set()
    left = max_tokens
    for passage in by_score:
        if passage.tokens + gap > left:
            if not kept:
                return truncate_to_tokens(passage.text, max_tokens)
            continue
        kept.add(passage.place)
        left -= passage.tokens + gap
    parts = [
        f"{'' if place == 0 else GAP if place - 1 not in kept else ' '}{passages[place].text}" for place in sorted(kept)
    ]
    text = "".join(parts).strip()
    return text if passages[-1].place in kept else f"{text}{GAP.rstrip()}"
