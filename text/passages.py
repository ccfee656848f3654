"""The passages of a text that bear on a question, within a token budget: BM25 over windows of sentences.

The first characters of a page or a message are seldom the answer; the words of the question, by how rare they are in
the text, say better where it stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Final

import numpy as np

from .bm25 import bm25
from .language import language_of
from .sentences import sentences
from .shorten import middle_out, truncate_to_tokens
from .terms import ENGLISH, terms
from .tokens import estimate_tokens

_GAP: Final = " … "
"""Stands where something was left out."""

_GAP_TOKENS: Final = estimate_tokens(_GAP)

_SEARCHED: Final = 400_000
"""Characters of a text in which passages are sought; of a longer one, half as many from its start and its end."""

_PASSAGE_TOKENS: Final = 90
"""A passage is closed from this size on; it is the unit that is kept or left out."""

_PARTS: Final = 4
"""Passages that at least have room; where the limit is small, passages are."""

_MAX_PASSAGES: Final = 1500

_NEIGHBOUR: Final = 0.3
"""What a passage gets of the score of each of its neighbours: answers run over."""

_LEAD: Final = 0.4
"""What the first passage gets, in units of the best score: it tells what the text is about."""

_NEAR: Final = 1.0
"""The same for the passage that is known to be near the question."""


def excerpt(text: str, question: str, limit: int, *, near: str = "") -> str:
    """The text if it fits, else its passages that bear on the question, in their order, with "…" between them.

    Where nothing bears on the question, the start of the text.

    Args:
        text: any text.
        question: what is asked.
        limit: tokens by `estimate_tokens`, at most.
        near: a part of the text that is known to be near the question; a name may stand before it.
    """
    text = middle_out(text, _SEARCHED, _GAP)
    size = estimate_tokens(text)
    if size <= limit:
        return text
    unit = max(1, min(_PASSAGE_TOKENS, limit // _PARTS), size // _MAX_PASSAGES)
    parts = list(_passages(text, unit))
    passages, sizes = [part for part, _ in parts], [tokens for _, tokens in parts]
    scores = _scores(passages, question, _place(text, passages, near)) if len(parts) > 1 else []
    if not any(scores):
        return truncate_to_tokens(text, limit)
    best = scores.index(max(scores))
    if sizes[best] + 2 * _GAP_TOKENS > limit:
        return excerpt(passages[best].strip(), question, limit, near=near)
    return truncate_to_tokens(_joined(passages, sizes, scores, limit), limit)


def _passages(text: str, unit: int) -> Iterator[tuple[str, int]]:
    """The text in parts of about `unit` tokens that end with a sentence, or with a line if they are half full."""
    begun = end = size = 0
    for part, tokens in _parts(text, unit):
        start = text.index(part, end)
        size += tokens + estimate_tokens(text[end:start])
        end = start + len(part)
        if size >= (unit // 2 if text.startswith("\n", end) else unit):
            yield text[begun:end], size
            begun, size = end, 0
    if rest := text[begun:].rstrip():
        yield rest, size


def _parts(text: str, unit: int) -> Iterator[tuple[str, int]]:
    """The sentences of a text in their order, and their tokens; very long ones in halves, and halves of these."""
    for sentence in chain.from_iterable(map(sentences, text.split("\n"))):
        waiting = [sentence]
        while waiting:
            part = waiting.pop()
            tokens, middle = estimate_tokens(part), len(part) // 2
            if tokens <= 2 * unit or not middle:
                yield part, tokens
            else:
                cut = next(at for at in (part.find(" ", middle), part.rfind(" ", 1, middle), middle) if at > 0)
                waiting += [part[cut:], part[:cut]]


def _place(text: str, passages: Sequence[str], near: str) -> int | None:
    """Which passage has the middle of what is known to be near the question."""
    found = next((at for part in (near, near.partition(": ")[2]) if part and (at := text.find(part)) >= 0), None)
    if found is None:
        return None
    ends = accumulate(map(len, passages))
    return next((position for position, end in enumerate(ends) if end > found + len(near) // 2), len(passages) - 1)


def _scores(passages: Sequence[str], question: str, near: int | None) -> list[float]:
    """BM25 of each passage with a part of its neighbours', and more for the first and the one near the question."""
    language = language_of("".join(passages)) or ENGLISH
    asked = dict.fromkeys(terms(question, language) or terms(question, language, keep_stop_words=True))
    counts = [Counter(terms(passage, language, keep_stop_words=True)) for passage in passages]
    frequencies = np.array([[count[term] for count in counts] for term in asked], dtype=float)
    own = bm25(frequencies, np.array([max(1, len(passage)) for passage in passages], dtype=float))
    around = np.concatenate([[0.0], own, [0.0]])
    scores = own + _NEIGHBOUR * (around[:-2] + around[2:])
    best = float(scores.max())
    scores[0] += _LEAD * best
    if near is not None:
        scores[near] += _NEAR * (best or 1.0)
    return list(map(float, scores))


def _joined(passages: Sequence[str], sizes: Sequence[int], scores: Sequence[float], limit: int) -> str:
    """The best passages that fit, in their order."""
    kept: set[int] = set()
    left = limit - _GAP_TOKENS
    for position in sorted(range(len(passages)), key=lambda position: -scores[position]):
        if sizes[position] + _GAP_TOKENS <= left:
            kept.add(position)
            left -= sizes[position] + _GAP_TOKENS
    parts = [passages[at] if not at or at - 1 in kept else _GAP + passages[at].lstrip() for at in sorted(kept)]
    return "".join([*parts, "" if len(passages) - 1 in kept else _GAP]).strip()
