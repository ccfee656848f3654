"""What the local router sees of a message beside its embedding: the signs in it, in numbers, in any language.

The word lists map words of every language to the same groups, so that what is learned from English questions
carries over.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

from ...text.words import QUESTION_MARKS
from .keywords import NAME, TALK, KeywordReading, Part

_GROUPS: Final = (
    "now", "near", "ask", "live", "news", "first", "past", "second", "assistant", "conversation", "given_text",
    "self_contained", "task", "device", "stable", "reaction", "year", "old_year", "address",
    "ticker", "version", "name",
    "outdoors",
)  # fmt: skip
_PAIRS: Final = (
    ("live", "first"), ("now", "first"), ("near", "first"), ("news", "first"), ("now", "live"), ("now", "news"),
    ("near", "news"), ("news", "stable"), ("live", "stable"), ("now", "second"), ("live", "device"), ("news", "name"),
    ("ask", "name"), ("ask", "live"), ("ask", "stable"), ("news", "task"), ("now", "task"), ("live", "task"),
)  # fmt: skip
_GRAMMAR: Final = ("question", "question_anywhere", "request", "request_anywhere", "inside", "mark")
_MOST: Final = 2.0
_PERSONS: Final = ("first", "past", "second", "assistant", "conversation", "reaction")
_AROUND: Final = ("first", "reaction", "now", "near", "live", "news", "second")
NAMES: Final = (
    *_GROUPS,
    *(f"{one} and {other}" for one, other in _PAIRS),
    *(f"{group} told" for group in _AROUND),
    *(f"{group} stated" for group in _AROUND),
    *(f"grammar: {one}" for one in _GRAMMAR),
    "names", "nobody", "asks", "brief", "question mark", "length", "long", "sentences", "score", "above",
)  # fmt: skip
"""The names of the features, in their order."""


def features(text: str, reading: KeywordReading) -> list[float]:
    """The features of a message, each about in [0, 1]; as many as `NAMES`."""
    chosen = max(reading.parts, key=_claim) if reading.parts else Part("tells", ())
    own = _counts(chosen)
    told: Counter[str] = Counter()
    stated: Counter[str] = Counter()
    for part in reading.parts:
        if part is not chosen:
            counts = _counts(part)
            (told if any(counts[group] for group in TALK) else stated).update(counts)
    words = len(re.findall(r"\w+", text[:4000]))
    return [
        *(own[group] / _MOST for group in _GROUPS),
        *(math.sqrt(own[one] * own[other]) / _MOST for one, other in _PAIRS),
        *(min(told[group], _MOST) / _MOST for group in _AROUND),
        *(min(stated[group], _MOST) / _MOST for group in _AROUND),
        *(float(one in chosen.grammar) for one in _GRAMMAR),
        min(len(NAME.findall(text[:1000])), 5) / 5,
        float(chosen.manner == "asks" and not any(own[group] for group in _PERSONS)),
        float(chosen.manner == "asks"),
        float(chosen.manner == "brief"),
        float(any(mark in text for mark in QUESTION_MARKS)),
        min(math.log1p(words) / 6, 1.0),
        float(len(text) > 600),
        min(len(reading.parts), 8) / 8,
        max(-1.0, min(reading.score / 3, 1.0)),
        float(reading.score >= 1.0),
    ]


def _claim(part: Part) -> tuple[bool, float]:
    counts = _counts(part)
    for_it = counts["now"] + counts["live"] + counts["year"] + 0.5 * (counts["near"] + counts["news"] + counts["ask"])
    return part.manner != "tells", for_it


def _counts(part: Part) -> Counter[str]:
    counts: Counter[str] = Counter()
    for group, _ in part.signs:
        counts[group] = min(counts[group] + 1, int(_MOST))
    return counts
