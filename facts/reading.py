"""From messages to a changed ledger: pure functions over what is known and what was said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ..state.fact_records import MANUAL_SCORE, Fact, Pin
from ..text.words import is_question
from .clauses import MOST_CHARACTERS
from .commands import FactCommand, commands
from .corrections import correction, set_right
from .extraction import Occasion, extract
from .language import language_in
from .ledger import forget_pins, forgotten_facts, merge
from .marked import MARKED_SCORE, marked
from .speakers import others_speech
from .wish import Wish
from .words import content_terms, key

_PINNED: Final = 1000
"""Characters of a message that is pinned as a whole."""

_FACTS_A_MESSAGE: Final = 20

Score = Callable[[str], float]


class Message(NamedTuple):
    """A message of the user, and what was said before it in its thread: by the user, and in reply to that."""

    said: Occasion
    text: str
    before: str = ""
    before_id: str = ""
    reply: str = ""
    of_another: bool = False
    """Whether it bears the name of somebody else."""


class FactReading(NamedTuple):
    """What a message says about its user, and asks of the memory."""

    message: Message
    facts: Sequence[Fact]
    pins: Sequence[Pin]
    forgets: Sequence[FactCommand]


class Ledger(NamedTuple):
    """Facts and pins, as far as they were loaded."""

    facts: tuple[Fact, ...] = ()
    pins: tuple[Pin, ...] = ()


def read_facts(message: Message, *, score: Score, auto_pin_score: float | None) -> FactReading:
    """What a message says and asks.

    Args:
        message: one of the user's.
        score: the importance of what a user says, in [0, 1].
        auto_pin_score: from which importance the message is pinned by itself; None pins none.
    """
    if message.of_another:
        return FactReading(message, (), (), ())
    asked = commands(message.text)
    pins = [pin for command in asked if command.act == "remember" and (pin := _pin(command, message))]
    told = [fact for pin in pins for fact in extract(pin.text, message.said, origin="user")]
    facts = [*told, *_told(message)][:_FACTS_A_MESSAGE]
    is_own = auto_pin_score is not None and not asked and not _quotes(message.text)
    if is_own and (rank := score(message.text)) >= (auto_pin_score or 0.0):
        pins.append(_automatic(message, rank))
    elif is_own:
        pins += [_made(message, sentence, "automatic", MARKED_SCORE) for sentence in marked(message.text)]
    return FactReading(message, facts, pins, [command for command in asked if command.act != "remember"])


def _told(message: Message) -> list[Fact]:
    """The facts of a message; where it sets right a word of the one before, that one is read as it was meant."""
    language = language_in(message.text) if message.before else None
    slip = correction(message.text, message.before, language) if language else None
    if language is None or slip is None:
        return extract(message.text, message.said)
    rest = message.text.replace(slip.sentence, "")
    return [*extract(rest, message.said), *set_right(slip, message.before, message.said, language)]


def _quotes(text: str) -> bool:
    """Whether a message holds what others say."""
    language = language_in(text)
    return language is not None and next(others_speech(text[:MOST_CHARACTERS], language), None) is not None


def read_again(fact: Fact, message: str) -> Fact:
    """A fact with the terms and the attribute that are read today; what became of it stays.

    Args:
        fact: as an earlier version stored it.
        message: what it was said in; empty where that is gone.
    """
    said = Occasion(fact.thread_id, fact.source_id, fact.said_at)
    language = language_in(message) or language_in(fact.text)
    found = [*extract(message, said), *extract(fact.text, said, language=language)]
    same = [new for new in found if key(new.text) == key(fact.text) and _named_alike(new.attribute, fact.attribute)]
    if not same:
        return fact.model_copy(update={"terms": content_terms(fact.text, language)})
    new = max(same, key=lambda new: new.attribute == fact.attribute)
    return fact.model_copy(update={"kind": new.kind, "terms": new.terms, "attribute": new.attribute})


def _named_alike(one: str | None, other: str | None) -> bool:
    """Whether two attributes are one but for the words behind it: "taste fish"."""
    return (one or "").partition(" ")[0] == (other or "").partition(" ")[0]


def apply(ledger: Ledger, readings: Iterable[FactReading]) -> Ledger:
    """The ledger after what was read, in the order it was said."""
    for reading in sorted(readings, key=lambda one: (one.message.said.said_at, one.message.said.source_id)):
        pins = {pin.id: pin for pin in (*reading.pins, *ledger.pins)}  # one that is known stays as it is
        ledger = Ledger(merge(ledger.facts, reading.facts), tuple(pins.values()))
        for command in reading.forgets:
            ledger = _forget(ledger, command, reading.message)
    return ledger


def _forget(ledger: Ledger, command: FactCommand, message: Message) -> Ledger:
    """The ledger after a request that was archived: one whose messages were not removed, because it was not clear, say.

    Only what the request states, or names, is forgotten: see `facts.forgetting`.
    """
    moment, language = message.said.said_at, language_in(message.text)
    wish = Wish(command, language, message.said) if command.words and language is not None else None
    facts = [fact for fact in ledger.facts if fact.said_at <= moment and _is_meant(fact, wish, command, message)]
    pins = [pin for pin in ledger.pins if pin.created_at <= moment and _pin_is_meant(pin, wish, command, message)]
    if wish is not None and wish.is_thing and wish.attribute is None and len({key(fact.text) for fact in facts}) > 1:
        facts = []
    gone = {fact.id: fact for fact in forgotten_facts(facts, moment)}
    unpinned = {pin.id: pin for pin in forget_pins(pins, moment)}
    return Ledger(
        tuple(gone.get(fact.id, fact) for fact in ledger.facts), tuple(unpinned.get(pin.id, pin) for pin in ledger.pins)
    )


def _is_meant(fact: Fact, wish: Wish | None, command: FactCommand, message: Message) -> bool:
    if wish is None:
        return _stands_in(command, message, fact.thread_id, fact.source_id, fact.said_at)
    if wish.names(fact) or wish.says(fact):
        return True
    may_be = (fact.subject == wish.subject and not wish.asked) or command.act == "forget about"
    return may_be and wish.held((*fact.terms, *wish.terms_of(fact.text))) == 1.0


def _pin_is_meant(pin: Pin, wish: Wish | None, command: FactCommand, message: Message) -> bool:
    if wish is None:
        return _stands_in(command, message, pin.thread_id, pin.source_id, pin.created_at)
    return wish.held(wish.terms_of(pin.text)) == 1.0


def _stands_in(command: FactCommand, message: Message, thread_id: str, source_id: str, said_at: datetime) -> bool:
    """Whether what was said there is in the scope of a request without words."""
    here = thread_id == message.said.thread_id
    if command.act == "forget everything":
        return True
    if command.act == "forget conversation":
        return here
    if command.act == "forget today":
        return said_at.date() == message.said.said_at.date()
    return here and source_id == message.before_id


def _pin(command: FactCommand, message: Message) -> Pin | None:
    """The pin that is asked for; "remember that" means what was said just before."""
    text = command.words
    if not text:
        asked = is_question(message.before)
        text = (message.reply if asked or not message.before else message.before)[:_PINNED]
    if not key(text):
        return None
    return _made(message, text, "manual", MANUAL_SCORE)


def _automatic(message: Message, score: float) -> Pin:
    return _made(message, message.text[:_PINNED], "automatic", score)


def _made(message: Message, text: str, kind: str, score: float) -> Pin:
    said = message.said
    return Pin.model_validate(
        {
            "id": Pin.id_for(said.source_id, key(text)),
            "text": text.strip(),
            "kind": kind,
            "score": score,
            "thread_id": said.thread_id,
            "source_id": said.source_id,
            "created_at": said.said_at,
        }
    )
