"""Which facts a turn shows, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..state.fact_records import USER, Fact, FactKind, FactSheet, Pin
from .language import language_in
from .words import asked_terms, key

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
    return asked_terms(text, language_in(text))


def weight(fact: Fact) -> float:
    """How much a fact matters to a turn whose question does not name it."""
    settled = fact.attribute is not None and fact.subject == USER and not fact.attribute.startswith("taste ")
    return _WEIGHTS[fact.kind] + (_SETTLED if settled else 0.0) + fact.confidence


def choose(found: Iterable[Fact], pins: Sequence[Pin], max_facts: int) -> FactSheet:
    """The sheet of a turn. A fact in the words of a pin, or of a fact before it, is not shown again.

    Args:
        found: the facts to choose from, the most important first; not more of them are looked at than needed.
        pins: in their order.
        max_facts: facts, at most.
    """
    told = {key(pin.text) for pin in pins}
    facts: list[Fact] = []
    for fact in found if max_facts else ():
        if (words := key(fact.text)) not in told:
            told.add(words)
            facts.append(fact)
        if len(facts) == max_facts:
            break
    return FactSheet(pins=tuple(pins), facts=tuple(facts))
