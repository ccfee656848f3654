"""Which facts a turn shows, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ..state.fact_records import HEALTH, USER, Fact, FactKind, FactSheet, Pin, fact_line, pin_line
from ..text.scope import Topic, scope_of, topics_of
from .commands import attribute_named
from .language import language_in
from .words import asked_terms, key

_WEIGHTS: Final[dict[FactKind, float]] = {
    "instruction": 0.7, "constraint": 0.6, "commitment": 0.2, "goal": 0.1, "biography": 0.1, "preference": 0.0,
}  # fmt: skip
"""What a kind adds where the question names nothing of a fact: what is broken does more harm than what is missed."""

_SETTLED: Final = 0.2
"""What an attribute adds, such as name or home: these identify the user."""

_STANDING: Final = 5.0
"""What is added to a fact that every turn needs, or one of its topics: it is always among those that are looked at."""

_ALWAYS: Final = frozenset({"name", "language"})
"""Attributes of the user that every turn needs."""

_BEARS: Final[dict[str, frozenset[Topic]]] = {
    "home": frozenset({"place", "clock"}), "timezone": frozenset({"clock"}), "diet": frozenset({"food"}),
}  # fmt: skip
"""Attributes of the user that a turn needs where it is about one of these, whatever its words are."""

_MOST_STANDING: Final = 8
_NAMED: Final = 4
"""Facts that a question names which a turn shows: the best of them. One that asks for many has twice as many."""

_QUESTION: Final = 4_000


class _Asked(NamedTuple):
    """What a message asks of the facts.

    Attributes:
        terms: its words, by which facts are found.
        most: facts beside the standing ones, at most; None: for all that is known of the user.
        needed: attributes of the user that it names, or needs for what it is about: the home, where it asks what is
            near.
    """

    terms: tuple[str, ...] = ()
    most: int | None = _NAMED
    needed: frozenset[str] = frozenset()


def asked_by(message: str, *, asks: bool = True) -> _Asked:
    """What a message asks of the facts; one that asks for nothing names none."""
    text = message[:_QUESTION]
    language, topics = language_in(text), topics_of(text)
    most: int | None = _NAMED if scope_of(text) == "one" else 2 * _NAMED
    if not asks:
        most = 0
    elif language is not None and language["asks_of_user"].search(language.normalized(text)):
        most = None
    needed = {attribute for attribute, bears_on in _BEARS.items() if topics & bears_on}
    needed |= {named} if (named := attribute_named(text, language)) else set()
    return _Asked(asked_terms(text, language), most, frozenset(needed))


def _is_standing(fact: Fact) -> bool:
    """Whether every turn needs a fact: who the user is, what would harm them, and what they told us to do always."""
    if fact.kind == "instruction":
        return True
    return _is_of_user(fact, _ALWAYS) or (_tells_of_user(fact) and (fact.attribute or "").startswith(HEALTH))


def _tells_of_user(fact: Fact) -> bool:
    return fact.subject == USER and not fact.negated


def _is_of_user(fact: Fact, attributes: Collection[str]) -> bool:
    return _tells_of_user(fact) and fact.attribute in attributes


def weight(fact: Fact) -> float:
    """How much a fact matters to a turn whose question does not name it."""
    settled = fact.attribute is not None and fact.subject == USER and " " not in fact.attribute
    first = _is_standing(fact) or _is_of_user(fact, _BEARS)
    return _WEIGHTS[fact.kind] + (_SETTLED if settled else 0.0) + (_STANDING if first else 0.0) + fact.confidence


def choose(found: Iterable[Fact], pins: Sequence[Pin], max_facts: int, asked: _Asked) -> FactSheet:
    """The sheet of a turn: what every turn needs, the same from turn to turn; then what this one needs or names.

    A fact in the words of a pin, or of a fact before it, is not shown again.

    Args:
        found: the facts to choose from, the most important first.
        pins: in their order.
        max_facts: facts, at most.
        asked: what the newest message asks.
    """
    told = {key(pin.text) for pin in pins}
    facts: list[Fact] = []
    for fact in found if max_facts else ():
        if (words := key(fact.text)) not in told:
            told.add(words)
            facts.append(fact)
    # By what is asked, others would stand from turn to turn, where there are more than may.
    by_weight = sorted(facts, key=lambda fact: (weight(fact), fact.said_at, fact.id), reverse=True)
    standing = [fact for fact in by_weight if _is_standing(fact)][: min(max_facts, _MOST_STANDING)]
    needed = [fact for fact in by_weight if fact not in standing and _is_of_user(fact, asked.needed)]
    others = [fact for fact in facts if fact not in standing and fact not in needed]
    named = others if asked.most is None else _named(others, frozenset(asked.terms))[: asked.most]
    standing.sort(key=lambda fact: (fact.said_at, fact.id))
    return FactSheet(pins=tuple(pins), facts=tuple([*standing, *needed, *named][:max_facts]))


def _named(facts: Sequence[Fact], asked: frozenset[str]) -> list[Fact]:
    """The facts that share words with the question, those with the rarest words first."""
    shared = {fact.id: asked.intersection(fact.terms) for fact in facts}
    often = Counter(term for terms in shared.values() for term in terms)
    rank = {id_: sum(1 / often[term] for term in terms) for id_, terms in shared.items()}
    return sorted((fact for fact in facts if rank[fact.id]), key=lambda fact: rank[fact.id], reverse=True)


class Parted(NamedTuple):
    """The lines of a sheet: those that stand in the long-lived part of a prompt, and those for this turn alone."""

    standing: tuple[str, ...]
    news: tuple[str, ...]


def parted(sheet: FactSheet, *, thread_id: str, shown: Collection[str], since: datetime | None) -> Parted:
    """The sheet as it stood when the conversation was cut, and what of it is newer or what the question names.

    A fact of a message that is shown as it was said is in neither.

    Args:
        sheet: of a turn.
        thread_id: the thread.
        shown: ids of its messages that are shown as they were said.
        since: when the first of these was said; None where all that is known is older.
    """

    def is_shown(one: Fact | Pin) -> bool:
        return one.thread_id == thread_id and one.source_id in shown

    def is_new(one: Fact | Pin, moment: datetime) -> bool:
        return is_shown(one) or (one.thread_id != thread_id and since is not None and moment >= since)

    facts = [fact for fact in sheet.facts if _is_standing(fact) and not is_new(fact, fact.said_at)]
    pins = [pin for pin in sheet.pins if not is_new(pin, pin.created_at)]
    told = {*(fact.id for fact in facts), *(pin.id for pin in pins)}
    new = [fact for fact in sheet.facts if fact.id not in told and not is_shown(fact)]
    new_pins = [pin for pin in sheet.pins if pin.id not in told]
    return Parted((*map(pin_line, pins), *map(fact_line, facts)), (*map(pin_line, new_pins), *map(fact_line, new)))
