"""Which facts a turn shows, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ..state.fact_records import USER, Fact, FactKind, FactSheet, Pin, fact_line, pin_line
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
    return FactSheet(pins=tuple(pins), facts=told_once(found, pins, max_facts))


def told_once(found: Iterable[Fact], pins: Sequence[Pin], most: int) -> tuple[Fact, ...]:
    """The first facts, at most so many, none in the words of a pin or of another one."""
    told = {key(pin.text) for pin in pins}
    facts: list[Fact] = []
    for fact in found if most else ():
        if (words := key(fact.text)) not in told:
            told.add(words)
            facts.append(fact)
        if len(facts) == most:
            break
    return tuple(facts)


class Parted(NamedTuple):
    """The lines of a sheet: those that stand in the long-lived part of a prompt, and those for this turn alone."""

    standing: tuple[str, ...]
    news: tuple[str, ...]


def parted(sheet: FactSheet, most: int, *, thread_id: str, shown: Collection[str], since: datetime | None) -> Parted:
    """The sheet as it stood when the conversation was cut, and what of it is newer or what the question names.

    What was said in a message that is shown as it was said is in neither; of pins, it is in the second.

    Args:
        sheet: of a turn.
        most: facts that stand, at most.
        thread_id: the thread.
        shown: ids of its messages that are shown as they were said.
        since: when the first of these was said; None where all that is known is older.
    """

    def is_shown(one: Fact | Pin) -> bool:
        return one.thread_id == thread_id and one.source_id in shown

    def is_new(one: Fact | Pin, moment: datetime) -> bool:
        return is_shown(one) or (one.thread_id != thread_id and since is not None and moment >= since)

    facts = [fact for fact in sheet.standing if not is_new(fact, fact.said_at)][:most]
    pins = [pin for pin in sheet.pins if not is_new(pin, pin.created_at)]
    told = {*(fact.id for fact in facts), *(pin.id for pin in pins)}
    new = [
        fact
        for fact in sheet.facts
        if fact.id not in told and not is_shown(fact) and (fact.id in sheet.named or is_new(fact, fact.said_at))
    ]
    new_pins = [pin for pin in sheet.pins if pin.id not in told]
    return Parted((*map(pin_line, pins), *map(fact_line, facts)), (*map(pin_line, new_pins), *map(fact_line, new)))
