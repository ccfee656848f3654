"""Which facts a turn is told, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from ..state.fact_records import USER, Fact, FactKind, FactSheet, Pin
from .language import language_of
from .words import content_terms, key

_WEIGHTS: Final[dict[FactKind, float]] = {
    "constraint": 0.6, "commitment": 0.2, "goal": 0.1, "biography": 0.1, "preference": 0.0,
}  # fmt: skip
"""What a kind adds where the question names nothing of a fact: what is broken does more harm than what is missed."""

_SETTLED: Final = 0.2
"""What an attribute adds, such as name or home: these identify the user."""

_QUESTION: Final = 4_000


def question_terms(question: str) -> tuple[str, ...]:
    """The words of a question by which facts are found."""
    text = question[:_QUESTION]
    language = language_of(text)
    return content_terms(text, language.stop if language else ())


def weight(fact: Fact) -> float:
    """How much a fact matters to a turn whose question does not name it."""
    settled = fact.attribute is not None and fact.subject == USER and not fact.attribute.startswith("taste ")
    return _WEIGHTS[fact.kind] + (_SETTLED if settled else 0.0) + fact.confidence


def choose(found: Iterable[Fact], pins: Sequence[Pin], terms: Collection[str], max_facts: int) -> FactSheet:
    """The sheet of a turn, the most important first: what the question names, then what does harm if forgotten.

    Args:
        found: the facts to choose from.
        pins: in their order. A fact in the words of a pin is not told again.
        terms: the words of the question.
        max_facts: facts, at most.
    """
    pinned = {key(pin.text) for pin in pins}
    asked = frozenset(terms)

    def importance(fact: Fact) -> tuple[float, float, str]:
        shared = len(asked.intersection(fact.terms))
        relevance = 1.0 + shared / len(asked) if shared else 0.0
        return relevance + weight(fact), fact.said_at.timestamp(), fact.id

    chosen: dict[str, Fact] = {}
    for fact in sorted(found, key=importance, reverse=True):
        if key(fact.text) not in pinned:
            chosen.setdefault(key(fact.text), fact)
    return FactSheet(pins=tuple(pins), facts=tuple(chosen.values())[:max_facts])
