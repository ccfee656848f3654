"""Excerpts of long messages: the passages that bear on a question, within a number of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from .shorten import middle_out, truncate_to_tokens
from .terms import search_terms, term_places
from .tokens import Count, estimate_tokens

GAP: Final = "\n[...]\n"
"""Stands where something was left out."""

_WINDOW: Final = 300
"""Characters of the part of a text in which most words are sought."""

_TRIES: Final = 12

_SEARCHED: Final = 400_000
"""Characters of a text in which a passage is sought; of a longer one, half as many from its start and its end."""


def excerpt(text: str, question: str, limit: int, *, passage: str = "", count: Count = estimate_tokens) -> str:
    """The text, or of one that is longer than `limit` tokens the passages that bear on the question.

    Args:
        text: any text.
        question: what they are sought for: the part that shares most of its words is one passage.
        limit: tokens, at most.
        passage: another one that is known to be near the question; most of it stands in the text.
        count: what counts the tokens.
    """
    if len(text) <= _SEARCHED and count(text) <= limit:
        return text
    text = middle_out(text, _SEARCHED, "")
    centres = [centre for centre in (_of_passage(text, passage), _of_words(text, question)) if centre is not None]
    if not centres:
        return truncate_to_tokens(text, limit, keep="both", count=count)
    # Characters that a token takes in this text; where it is denser, less of it fits.
    width = limit * len(text) / max(1, count(text))
    for _ in range(_TRIES):
        cut = _cut(text, sorted(set(centres)), max(2, int(width)))
        if count(cut) <= limit:
            return cut
        width *= 0.8
    return truncate_to_tokens(text, limit, keep="both", count=count)


def _of_passage(text: str, passage: str) -> int | None:
    """Where the middle of a passage stands; its start may be a name that is not part of the text."""
    if not passage:
        return None
    for start in (0, passage.find(": ") + 2):
        if (found := text.find(passage[start:])) >= 0:
            return found + (len(passage) - start) // 2
    return None


def _of_words(text: str, question: str) -> int | None:
    """The middle of the words of the question in the part that holds most different ones, the latest such part."""
    places = term_places(text, frozenset(search_terms(question)))
    held: Counter[str] = Counter()
    first, most, best = 0, 0, 0
    for start, term in places:
        held[term] += 1
        while places[first][0] <= start - _WINDOW:
            held[places[first][1]] -= 1
            first += 1
        if (different := len(+held)) >= most:
            most, best = different, (places[first][0] + start) // 2
    return best if places else None


def _cut(text: str, centres: Sequence[int], width: int) -> str:
    """Parts of the text around the centres, `width` characters together; parts that touch become one."""
    half = width // (2 * len(centres))
    parts: list[list[int]] = []
    for centre in centres:
        start = max(0, min(centre - half, len(text) - 2 * half))
        stop = min(len(text), start + 2 * half)
        if parts and start <= parts[-1][1]:
            parts[-1][1] = max(parts[-1][1], stop)
        else:
            parts.append([start, stop])
    cut = GAP.join(text[start:stop].strip() for start, stop in parts)
    before, after = parts[0][0] > 0, parts[-1][1] < len(text)
    return f"{GAP.lstrip() if before else ''}{cut}{GAP.rstrip() if after else ''}"
