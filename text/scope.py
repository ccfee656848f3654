"""How much of what was said a question asks for, from one thing to the course of a whole; and what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal

import regex

from .data import phrases
from .fold import fold
from .sides import sides_of

Scope = Literal["one", "many", "order", "whole"]
"""One thing, several, the order of several, or a whole in short."""

Topic = Literal["place", "food", "clock"]
"""What a question may be about so that where somebody lives, what they eat, or their time zone bears on it."""

_CHARACTERS: Final = 2000
"""Characters of a question that are read."""

_BEGIN: Final = r"(?<![\p{Latin}\p{Cyrillic}\p{Arabic}\p{Devanagari}])"
_END: Final = r"(?![\p{Latin}\p{Cyrillic}\p{Arabic}\p{Devanagari}])"


def scope_of(question: str) -> Scope:
    """What the words of a question ask for; the lists of all languages are in `data/scope.json`.

    "order" is that of events, "whole" a summary or how something developed; "many" is all, how many, which, a
    comparison, or what follows from several things that were said ("would she ..."); how many days ago asks for one.
    Which of several came first asks for each of them.
    """
    text = fold(question[:_CHARACTERS])
    groups: tuple[Scope, ...] = ("order", "whole", "one", "many")
    asked: Scope = next((group for group in groups if _has(text, phrases("scope", group))), "one")
    return "many" if asked == "one" and sides_of(question) else asked


def topics_of(message: str) -> frozenset[Topic]:
    """Which of these a message names ("near me", "recipe", "what time"); the lists are in `data/topics.json`."""
    text = fold(message[:_CHARACTERS])
    topics: tuple[Topic, ...] = ("place", "food", "clock")
    return frozenset(topic for topic in topics if _has(text, phrases("topics", topic)))


def _has(text: str, listed: Iterable[str]) -> bool:
    """Whether one of the phrases stands there, and not inside of a word; only those that are there are compiled."""
    return any(_whole(phrase).search(text) for phrase in listed if phrase in text)


@lru_cache(2_048)
def _whole(phrase: str) -> regex.Pattern[str]:
    return regex.compile(f"{_BEGIN}{regex.escape(phrase)}{_END}")
