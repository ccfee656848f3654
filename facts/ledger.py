"""How new facts meet known ones: pure functions (seed `004`: append-only, deduplicated, conflicts flagged).

Nothing disappears: what is said again is confirmed, what is contradicted is superseded and keeps its interval, and
where nobody can say which of two holds, both are marked as conflicting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from ..state.fact_records import USER, Fact, FactState, Pin
from .counts import COUNT, MORE, counted_again, grown, is_more, is_part
from .endings import ends, is_ending
from .language import language_in
from .words import content_terms, key

DEPENDED_ON: Final[Mapping[str, frozenset[str]]] = {
    "home": frozenset({"address", "timezone"}), "employer": frozenset(), "status": frozenset(),
}  # fmt: skip
"""Attributes whose change makes others doubtful, and what names their old value."""

_NAMED: Final = 3
"""Letters of a value by which another fact names it, at least."""

_REWORDED: Final = 1
"""New words about the same value that are only another wording: "I'm living" after "I live"."""


def merge(known: Iterable[Fact], candidates: Iterable[Fact]) -> tuple[Fact, ...]:
    """All facts after the candidates were taken in, in the order they were said.

    Args:
        known: the facts that may have to do with the candidates: those that say the same (`meaning`), and those of
            the same `slot`.
        candidates: newly found facts, in any order.
    """
    ledger = {fact.id: fact for fact in known}
    for fact in sorted(candidates, key=_order):
        if fact.id not in ledger:
            _take_in(ledger, fact)
    return tuple(sorted(ledger.values(), key=_order))


def changed(before: Iterable[Fact], after: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts that are new or other than before: what has to be written."""
    old = {fact.id: fact for fact in before}
    return tuple(fact for fact in after if old.get(fact.id) != fact)


def meaning(fact: Fact) -> str:
    """What two facts share that say the same of the same, in whatever words and case."""
    said = f"{fact.attribute}={fact.value}" if fact.attribute is not None else " ".join(fact.terms) or key(fact.text)
    return "\x1f".join([fact.subject, "not" if fact.negated else "", said])


def contradict(one: Fact, other: Fact) -> bool:
    """Whether two facts cannot hold at the same time: another value, or the same value once with a "not"."""
    if one.slot is None or one.slot != other.slot or is_more(one):
        return False
    same = _same_value(one, other)
    return same if one.negated != other.negated else not same and not one.negated


def forgotten_facts(facts: Iterable[Fact], moment: datetime) -> tuple[Fact, ...]:
    """The facts, marked as forgotten from this moment on: never shown again, until the user says them again."""
    return tuple(
        fact.model_copy(update={"state": "forgotten", "valid_to": max(moment, fact.confirmed_at)})
        for fact in facts
        if fact.state != "forgotten"
    )


def without_facts(facts: Iterable[Fact], gone: Collection[str]) -> tuple[Fact, ...]:
    """The facts as they stand when some of them are deleted, and not only superseded or forgotten.

    What a deleted fact had ended holds again, or ends with what had ended that one; what contradicted only deleted
    facts is no conflict any more. What the user wanted forgotten stays forgotten.

    Args:
        facts: the deleted ones; those that they superseded; and the open ones of the same slots.
        gone: the ids of the deleted ones.
    """
    known = {fact.id: fact for fact in facts}
    kept = [_restored(fact, known, gone) for fact in known.values() if fact.id not in gone]
    return tuple(fact.model_copy(update={"state": _open_state(fact, kept)}) if fact.is_open else fact for fact in kept)


def forget_pins(pins: Iterable[Pin], moment: datetime) -> tuple[Pin, ...]:
    """The pins, marked as forgotten at this moment."""
    return tuple(pin.model_copy(update={"forgotten_at": moment}) for pin in pins if pin.forgotten_at is None)


def _is_over(old: Fact, new: Fact) -> bool:
    """Whether the new fact tells the end of one that was said before."""
    return old.said_at <= new.said_at and ends(new, old)


def _order(fact: Fact) -> tuple[datetime, str]:
    return fact.said_at, fact.id


def _take_in(ledger: dict[str, Fact], new: Fact) -> None:
    if is_more(new):
        whole = grown(new, ledger.values())
        if whole is None and not new.settles:
            return
        if whole is not None:
            ledger[whole.id] = _doubted(whole, new)
            new = _of_set(new, whole)
    said = [fact for fact in ledger.values() if _says_same(fact, new) and _covers(fact, new.said_at)]
    if said:
        _confirm(ledger, said, new)
        return
    slot = [
        fact
        for fact in ledger.values()
        if contradict(fact, new) or _refines(new, fact) or _is_over(fact, new) or counted_again(new, fact)
    ]
    later = [fact for fact in slot if fact.confirmed_at > new.said_at and fact.state != "forgotten"]
    if later:
        next_said = min(later, key=lambda fact: (max(fact.said_at, new.said_at), fact.id))
        ledger[new.id] = superseded(new, next_said)
        return
    _decide(ledger, [fact for fact in slot if fact.is_open], new)


def _decide(ledger: dict[str, Fact], rivals: Sequence[Fact], new: Fact) -> None:
    """The newest word holds, unless it came at the same time as the other, or does not settle the matter."""
    contradicted = [fact for fact in rivals if contradict(fact, new) and not is_ending(new)]
    undecided = [fact for fact in contradicted if fact.confirmed_at == new.said_at or not (new.settles or new.negated)]
    state = "conflicting" if undecided else "current"
    language = language_in(new.text) if is_ending(new) else None
    for fact in rivals:
        if fact in undecided:
            ledger[fact.id] = fact.model_copy(update={"state": "conflicting"})
        elif language is not None and is_part(new.text, fact, language):
            ledger[fact.id] = _doubted(fact, new)
        else:
            ledger[fact.id] = superseded(fact, new)
    for fact in [old for old in rivals if old not in undecided and not _refines(new, old)]:
        _doubt_dependents(ledger, fact, new)
    since = min((fact.valid_from for fact in rivals if _refines(new, fact)), default=new.valid_from)
    ledger[new.id] = new.model_copy(update={"state": state, "valid_from": min(since, new.valid_from)})


def _doubt_dependents(ledger: dict[str, Fact], ended: Fact, new: Fact) -> None:
    """Mark what hangs on a fact that ended: it may hold no more. `superseded_by` then names what changed."""
    for fact in list(ledger.values()):
        if fact.is_open and fact.said_at <= new.said_at and fact.id != new.id and _hangs_on(fact, ended, new):
            ledger[fact.id] = _doubted(fact, new)


def _doubted(fact: Fact, by: Fact) -> Fact:
    """The fact, which may hold no more since the other was said."""
    return fact.model_copy(update={"state": "conflicting", "superseded_by": by.id})


def _of_set(more: Fact, whole: Fact) -> Fact:
    """One more of what was counted, so that it is found by the words for that."""
    noun = (whole.attribute or "").removeprefix(COUNT)
    return more.model_copy(update={"attribute": MORE + noun, "terms": tuple(sorted({*more.terms, *whole.terms}))})


def _hangs_on(fact: Fact, ended: Fact, new: Fact) -> bool:
    """Whether a fact is of what is gone ("my dog is called Rex"), or of the place or firm that was left."""
    if new.value == "lost" and is_ending(new):
        return fact.subject != USER and set(new.terms) <= set(content_terms(fact.subject, language_in(new.text)))
    if ended.subject != USER or ended.attribute not in DEPENDED_ON or is_ending(fact) or fact.slot == ended.slot:
        return False
    named = len(ended.value or "") >= _NAMED and (ended.value or "") in key(fact.text)
    return fact.subject == USER and (named or fact.attribute in DEPENDED_ON[ended.attribute or ""])


def _confirm(ledger: dict[str, Fact], said: Sequence[Fact], new: Fact) -> None:
    for fact in said:
        if fact.is_open and fact.confirmed_at < new.said_at:
            sure = {"state": "current", "superseded_by": None} if fact.superseded_by is not None else {}
            ledger[fact.id] = fact.model_copy(update={"confirmed_at": new.said_at, **sure})


def superseded(old: Fact, by: Fact) -> Fact:
    """The old fact, ended by the new one."""
    end = max(old.valid_from, by.said_at)
    return old.model_copy(update={"state": "superseded", "valid_to": end, "superseded_by": by.id})


def _restored(fact: Fact, known: Mapping[str, Fact], gone: Collection[str]) -> Fact:
    """The fact with an end that follows from what is kept."""
    if fact.is_open:
        return fact.model_copy(update={"superseded_by": None}) if fact.superseded_by in gone else fact
    end = fact
    while (successor := end.superseded_by) is not None and successor in gone and successor in known:
        end = known[successor]
    if end is fact:
        return fact
    if end.is_open:
        return fact.model_copy(update={"state": "current", "valid_to": None, "superseded_by": None})
    return fact.model_copy(update={"valid_to": end.valid_to, "superseded_by": end.superseded_by})


def _open_state(fact: Fact, kept: Iterable[Fact]) -> FactState:
    doubted = fact.superseded_by is not None or any(other.is_open and contradict(other, fact) for other in kept)
    return "conflicting" if doubted else "current"


def _covers(fact: Fact, moment: datetime) -> bool:
    """Whether what is said at this moment falls before the end of the fact's interval."""
    return fact.valid_to is None or moment < fact.valid_to or (fact.state == "forgotten" and moment == fact.valid_to)


def _says_same(old: Fact, new: Fact) -> bool:
    """The same statement, in whatever words; more words about the same value are news."""
    if old.subject != new.subject:
        return False
    if key(old.text) == key(new.text) and (old.attribute == new.attribute or None in {old.attribute, new.attribute}):
        return True
    if old.slot is None or new.slot is None:
        return meaning(old) == meaning(new)
    same = old.slot == new.slot and old.negated == new.negated and _parts(new) <= _parts(old)
    return same and len(set(new.terms) - set(old.terms)) <= _REWORDED


def _refines(new: Fact, old: Fact) -> bool:
    """Whether the new one says the same value with more words."""
    same = old.slot is not None and old.slot == new.slot and old.negated == new.negated
    return same and _same_value(old, new) and not _says_same(old, new)


def _same_value(one: Fact, other: Fact) -> bool:
    """Whether one value is the other, or the other said more fully: "oslo" and "oslo, norway"."""
    first, second = _parts(one), _parts(other)
    return first <= second or second <= first


def _parts(fact: Fact) -> frozenset[str]:
    return frozenset(key(word) for word in (fact.value or "").replace(",", " ").split())
