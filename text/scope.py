"""How much of what was said a question asks for, from one thing to the course of a whole; and what it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, Literal

import regex

from .data import phrases
from .fold import fold
from .sides import sides_of
from .terms import search_terms

Scope = Literal["one", "many", "order", "whole"]
"""One thing, several, the order of several, or a whole in short."""

Topic = Literal["place", "food", "clock"]
"""What a question may be about so that where somebody lives, what they eat, or their time zone bears on it."""

_CHARACTERS: Final = 2000
"""Characters of a question that are read."""

_GAP: Final = " ... "
"""In a phrase, where some other words stand: "how has ... changed"."""

_LETTERS: Final = 2
"""Of a phrase, by which it is looked up."""

_BETWEEN: Final = r"[^.?!;。？！؟।]{1,60}?"
_SENTENCE: Final = regex.compile(r"(?<=[.!?;。？！؟।\n])")
_ASKS: Final = ("?", "？", "؟")
_BEGIN: Final = r"(?<![\p{Latin}\p{Cyrillic}\p{Arabic}\p{Devanagari}])"
_END: Final = r"(?![\p{Latin}\p{Cyrillic}\p{Arabic}\p{Devanagari}])"


def scope_of(question: str) -> Scope:
    """What the words of a question ask for; the lists of all languages are in `data/scope.json`.

    "order" is that of events, "whole" a summary, how something stands or developed, or what happened in a span of time
    ("how have I been lately", unless it is "how many ... lately"); "many" is all, how many, which, a
    comparison, or what follows from several things that were said ("would she ..."); how many days ago asks for one.
    Which of several came first asks for each of them.
    """
    asked = _Phrases("scope", _asking(fold(question[:_CHARACTERS])))
    if asked.have("order"):
        return "order"
    over_a_span = asked.have("span") and asked.have("open") and not asked.have("counted")
    if over_a_span or asked.have("whole"):
        return "whole"
    if asked.have("one"):
        return "one"
    return "many" if asked.have("many") or sides_of(question) else "one"


def asks_for_whole(question: str) -> bool:
    """Whether a question asks for a whole or an order: for a little of much."""
    return scope_of(question) in ("order", "whole")


def asks_for_all(question: str) -> bool:
    """Whether that is asked of all that was said, without a subject: "Summarize what we talked about so far."

    Then nothing is left of the question beside what asks, the words for a conversation, and what mostly stands there.
    """
    if not asks_for_whole(question):
        return False
    asked = _Phrases("scope", _asking(fold(question[:_CHARACTERS])))
    return asked.have("talk") and not search_terms(asked.without("talk", "order", "whole", "span", "open", "beside"))


def topics_of(message: str) -> frozenset[Topic]:
    """Which of these a message names ("near me", "recipe", "what time"); the lists are in `data/topics.json`."""
    named = _Phrases("topics", fold(message[:_CHARACTERS]))
    topics: tuple[Topic, ...] = ("place", "food", "clock")
    return frozenset(topic for topic in topics if named.have(topic))


def _asking(text: str) -> str:
    """The sentences that end in a question mark, or all where none does: what is told beside them asks for nothing."""
    return " ".join(part for part in _SENTENCE.split(text) if part.endswith(_ASKS)) or text


class _Phrases:
    """Whether a text has a phrase of the lists of a file, and not inside of a word."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text
        self._begins = {text[n : n + size] for n in range(len(text)) for size in (1, _LETTERS)}

    def have(self, group: str) -> bool:
        """Whether one of a group stands there; only those that begin there are looked for."""
        likely = self._likely(group)
        return any(phrase.split(_GAP, 1)[0] in self._text and _whole(phrase).search(self._text) for phrase in likely)

    def without(self, *groups: str) -> str:
        """The text without them, the longest first; of what stands in a gap nothing is taken."""
        parts = {part for group in groups for phrase in self._likely(group) for part in phrase.split(_GAP)}
        text = self._text
        for part in sorted(parts, key=len, reverse=True):
            text = _whole(part).sub(" ", text) if part in text else text
        return text

    def _likely(self, group: str) -> Iterator[str]:
        listed = _by_beginning(self._name, group)
        return (phrase for begins in self._begins & listed.keys() for phrase in listed[begins])


@cache
def _by_beginning(name: str, group: str) -> Mapping[str, Sequence[str]]:
    """The phrases of a list by their first letters."""
    listed: dict[str, list[str]] = {}
    for phrase in phrases(name, group):
        listed.setdefault(phrase[:_LETTERS], []).append(phrase)
    return listed


@lru_cache(4_096)
def _whole(phrase: str) -> regex.Pattern[str]:
    parts = [f"{_BEGIN}{regex.escape(part)}{_END}" for part in phrase.split(_GAP)]
    return regex.compile(_BETWEEN.join(parts))
