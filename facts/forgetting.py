"""What a request to forget means: which sentences of which messages. Pure functions.

A sentence that says all of what was asked goes; one that says only a part of it is never taken for it: then nothing
goes, and what it may mean is told, so that the user can be asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ..state.fact_records import USER, Fact, Pin
from ..state.records import Role
from ..text.fold import bare, fold
from ..text.sentences import sentence_spans
from ..text.words import is_question
from .commands import FactCommand, attribute_named, commands
from .extraction import Occasion, extract
from .language import Language
from .words import content_terms, key

PART: Final = 0.5
"""The share of the words of a request that a sentence holds which may be meant."""

_REPEATS: Final = 0.6
"""The share of these words that a sentence of the reply holds which repeats it."""

_ALIKE: Final = 0.4
"""The share of a longer word that two words begin with alike which are forms of one: only where verbs are bent."""

_LEAST: Final = 3
_FEW: Final = 2
_TOLD: Final = 5
"""Sentences that are told as what may be meant."""

_PREFIX: Final = 3


class Said(NamedTuple):
    """A message as it was said."""

    thread_id: str
    id: str
    seq: int
    role: Role
    text: str
    said_at: datetime


class Part(NamedTuple):
    """What of a message is forgotten: all but the rest."""

    said: Said
    rest: str


class Meant(NamedTuple):
    """What a request means: what is forgotten, or where that is not clear, sentences that it may mean."""

    parts: tuple[Part, ...] = ()
    unclear: tuple[str, ...] = ()


class _Wish:
    """One request, read: what a sentence must say to be meant."""

    def __init__(self, command: FactCommand, language: Language, said: Occasion) -> None:
        self.command = command
        self.language = language
        words = _as_said(command.words, language)
        self.plain = language.normalized(words)
        self.terms = frozenset(content_terms(words, language))
        self.negated = language["negation"].search(self.plain) is not None
        self.said = said
        self.attribute = attribute_named(command.words, language)
        stated = extract(words, said, language=language)
        # "my address" alone states nothing, whatever the patterns make of it.
        self.asked = stated if self.attribute is None or any(fact.attribute for fact in stated) else []
        person = language["people"].search(self.plain)
        self.subject = key(person[0]) if person else USER
        self.values: set[str] = set()

    @property
    def is_thing(self) -> bool:
        """Whether it names something of the user's ("my phone number"), and states nothing."""
        return not self.asked and len(self.terms) <= _LEAST and self.language["my"].match(self.plain) is not None

    @property
    def bends(self) -> bool:
        """Whether the request puts the verb of what was said into another form."""
        return self.language.verb_last or not self.language.spaced

    def held(self, terms: Iterable[str]) -> float:
        """The share of the words of the request that are among these terms, in [0, 1]."""
        known = set(terms)
        if not self.terms:
            return 0.0
        return sum(term in known or (self.bends and _bent(term, known)) for term in self.terms) / len(self.terms)


def _as_said(words: str, language: Language) -> str:
    """The words with the user named as in a sentence of its own, where a request names them otherwise."""
    plain = language.normalized(words)
    named = language["clause_first"].match(plain)
    return language.pronoun + plain[named.end() :] if named else words


def _bent(term: str, known: Iterable[str]) -> bool:
    return any(_same_start(term, other) for other in known)


def _same_start(one: str, other: str) -> bool:
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return same >= max(_LEAST, _ALIKE * min(len(one), len(other)))


def meant_by(
    command: FactCommand,
    language: Language,
    asked: Occasion,
    said: Sequence[Said],
    *,
    facts: Sequence[Fact] = (),
    pins: Sequence[Pin] = (),
) -> Meant:
    """What a request with words means.

    Args:
        command: "forget" or "forget about".
        language: that of the message that asks.
        asked: where and when it was asked.
        said: messages of the user's threads that may be meant, in their order, and the replies to them.
        facts: the user's, because a summarizer may have worded them.
        pins: the user's.
    """
    wish = _Wish(command, language, asked)
    gone: dict[tuple[str, str], set[int]] = {}
    near: list[tuple[float, str]] = []
    found: list[tuple[Said, int, str]] = []
    sources = {(fact.thread_id, fact.source_id) for fact in facts if _names(fact, wish)}
    for message in said:
        if (message.thread_id, message.id) not in sources and not _may_concern(message.text, wish):
            continue
        for number, sentence in enumerate(_sentences(message.text)):
            share = _share(sentence, message.role, wish)
            if share == 1.0:
                found.append((message, number, sentence))
            elif share >= PART and message.role == "user":
                near.append((share, sentence))
    if not found and wish.bends:
        found, near = _bent_ones(said, wish)
    if _is_open(found, wish):
        return Meant(unclear=_distinct(sentence for message, _, sentence in found if message.role == "user"))
    for message, number, _ in found:
        gone.setdefault((message.thread_id, message.id), set()).add(number)
    _add_sources(gone, said, wish, facts, pins)
    of_user = any(message.role == "user" and (message.thread_id, message.id) in gone for message in said)
    if not of_user and (command.act != "forget about" or not gone):
        return Meant(unclear=_distinct(sentence for _, sentence in sorted(near, reverse=True)))
    _add_replies(gone, said, wish)
    return Meant(tuple(_parts(said, gone)))


def sources_of(facts: Iterable[Fact], pins: Iterable[Pin], said: Sequence[Said]) -> Meant:
    """All that tells something of the user: the sentences that facts and pins were made from."""
    told: dict[tuple[str, str], list[str]] = {}
    for one in (*facts, *pins):
        told.setdefault((one.thread_id, one.source_id), []).append(one.text)
    gone: dict[tuple[str, str], set[int]] = {}
    for message in said:
        place = message.thread_id, message.id
        for text in told.get(place, ()):
            terms = set(content_terms(text))
            shares = [len(terms.intersection(content_terms(one))) for one in _sentences(message.text)]
            gone.setdefault(place, set()).update(at for at, share in enumerate(shares) if share == max(shares))
    return Meant(tuple(_parts(said, gone)))


def whole(said: Iterable[Said]) -> Meant:
    """All of these messages."""
    return Meant(tuple(Part(message, "") for message in said))


def rest_of(text: str) -> str:
    """What a message says beside its requests to forget; empty where it says nothing else."""
    sentences = enumerate(_sentences(text))
    asks = {at for at, sentence in sentences if any(command.act != "remember" for command in commands(sentence))}
    rest = _without(text, asks)
    return rest if content_terms(rest) else ""


def without_repeats(text: str, command: FactCommand, language: Language, asked: Occasion) -> str:
    """A reply without the sentences that repeat what was asked to be forgotten."""
    wish = _Wish(command, language, asked)
    wish.values = {fact.value for fact in wish.asked if fact.value}
    return _without(text, {at for at, sentence in enumerate(_sentences(text)) if _repeats(sentence, wish)})


def _may_concern(text: str, wish: _Wish) -> bool:
    """Whether a text holds so many of the words, in some form, that a sentence of it may be meant: a quick look."""
    plain = bare(text)
    held = sum(term[:_PREFIX] in plain for term in wish.terms)
    return held >= PART * len(wish.terms) if wish.attribute is None or held else False


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def _share(sentence: str, role: Role, wish: _Wish) -> float:
    """How much of the request a sentence says, in [0, 1]; 1 where it is what is meant."""
    held = wish.held(content_terms(sentence, wish.language))
    if wish.command.act == "forget about":
        return held
    if role != "user":
        return held if len(wish.terms) >= _FEW else 0.0
    found = extract(sentence, wish.said, language=wish.language)
    if any(_names(fact, wish) for fact in found):
        wish.values.update(fact.value for fact in found if fact.value and _names(fact, wish))
        return 1.0
    if any(_says(fact, asked) for fact in found for asked in wish.asked):
        wish.values.update(fact.value for fact in wish.asked if fact.value)
        return 1.0
    return held if held < 1.0 or _may_say(sentence, found, wish) else PART


def _names(fact: Fact, wish: _Wish) -> bool:
    """Whether a fact is the attribute that is asked for: "my address"."""
    is_it = wish.attribute is not None and fact.attribute == wish.attribute and fact.subject == wish.subject
    return is_it and not wish.asked


def _says(fact: Fact, asked: Fact) -> bool:
    """Whether a fact says all that another one says, of the same."""
    if fact.subject != asked.subject or fact.negated != asked.negated:
        return False
    if fact.slot is not None and fact.slot == asked.slot:
        return _words_of(asked.value) <= _words_of(fact.value)
    tastes = (fact.attribute or "").startswith("taste ") and (asked.attribute or "").startswith("taste ")
    if tastes and fact.value != asked.value:
        return False
    return bool(asked.terms) and set(asked.terms) <= set(fact.terms)


def _words_of(value: str | None) -> set[str]:
    return set((value or "").replace(",", " ").split())


def _denies(fact: Fact, asked: Fact) -> bool:
    """Whether a fact says something else of the same: likes, for dislikes."""
    return fact.slot is not None and fact.slot == asked.slot and fact.value != asked.value


def _may_say(sentence: str, found: Sequence[Fact], wish: _Wish) -> bool:
    """Whether a sentence with all the words says it of the same, as far as its words tell."""
    language, plain = wish.language, wish.language.normalized(sentence)
    if is_question(sentence) or (language["negation"].search(plain) is not None) != wish.negated:
        return False
    if any(_denies(fact, asked) for fact in found for asked in wish.asked):
        return False
    if found and all(fact.subject != (wish.asked[0].subject if wish.asked else wish.subject) for fact in found):
        return False
    if wish.is_thing or len(wish.terms) >= _FEW:
        person = language["people"].search(plain)
        return (key(person[0]) if person else USER) == wish.subject or wish.is_thing
    return set(content_terms(sentence, language)) <= wish.terms


def _bent_ones(said: Sequence[Said], wish: _Wish) -> tuple[list[tuple[Said, int, str]], list[tuple[float, str]]]:
    """Where a request bends the verb, the sentences whose value it names; else those that share most of its words."""
    asked = fold(wish.command.words).replace(" ", "")
    valued: dict[str | None, list[tuple[Said, int, str]]] = {}
    shared: list[tuple[float, Said, int, str]] = []
    for message in said:
        for number, sentence in enumerate(_sentences(message.text)) if message.role == "user" else ():
            facts = extract(sentence, wish.said, language=wish.language)
            of_subject = [fact for fact in facts if fact.subject == wish.subject and not fact.negated]
            for fact in of_subject:
                if (
                    fact.value
                    and not (fact.attribute or "").startswith("taste ")
                    and (fold(fact.value).replace(" ", "") in asked)
                ):
                    valued.setdefault(fact.slot, []).append((message, number, sentence))
            if of_subject and (share := wish.held(content_terms(sentence, wish.language))) >= PART:
                shared.append((share, message, number, sentence))
    near = [(share, sentence) for share, _, _, sentence in shared]
    if len(valued) == 1:
        return next(iter(valued.values())), near
    best = max((share for share, *_ in shared), default=0.0)
    top = [(message, number, sentence) for share, message, number, sentence in shared if share == best]
    alone = len({key(sentence) for _, _, sentence in top}) == 1 and best >= _REPEATS
    return (top if alone else []), near


def _is_open(found: Sequence[tuple[Said, int, str]], wish: _Wish) -> bool:
    """Whether several things match as well: two that are named alike, of which neither says what the other does."""
    if not wish.is_thing or wish.attribute is not None or wish.command.act == "forget about":
        return False
    told = [set(content_terms(s, wish.language)) for message, _, s in found if message.role == "user"]
    return any(not (one <= other or other <= one) for one in told for other in told)


def _add_sources(
    gone: dict[tuple[str, str], set[int]], said: Sequence[Said], wish: _Wish, facts: Sequence[Fact], pins: Sequence[Pin]
) -> None:
    """What facts in a summarizer's words were made from, and what asked for pins."""
    by_id = {(message.thread_id, message.id): message for message in said}
    sources = [(f.thread_id, f.source_id) for f in facts if any(_says(f, asked) for asked in wish.asked)]
    sources += [(f.thread_id, f.source_id) for f in facts if _names(f, wish)]
    held = [pin for pin in pins if wish.held(content_terms(pin.text, wish.language)) == 1.0 and len(wish.terms) >= _FEW]
    for place in [*sources, *((pin.thread_id, pin.source_id) for pin in held)]:
        message = by_id.get(place)
        if message is None or place in gone:
            continue
        shares = [wish.held(content_terms(sentence, wish.language)) for sentence in _sentences(message.text)]
        best = max(shares, default=0.0)
        gone[place] = {at for at, share in enumerate(shares) if share == best}


def _add_replies(gone: dict[tuple[str, str], set[int]], said: Sequence[Said], wish: _Wish) -> None:
    """Of the replies to what goes, the sentences that repeat it."""
    follows: dict[str, bool] = {}
    for message in said:
        place = message.thread_id, message.id
        if message.role == "user":
            follows[message.thread_id] = place in gone
        elif follows.get(message.thread_id):
            again = {at for at, sentence in enumerate(_sentences(message.text)) if _repeats(sentence, wish)}
            if again:
                gone.setdefault(place, set()).update(again)


def _repeats(sentence: str, wish: _Wish) -> bool:
    terms = set(content_terms(sentence, wish.language))
    named = any(terms.intersection(content_terms(value, wish.language)) for value in wish.values)
    return named or wish.held(terms) >= _REPEATS


def _parts(said: Iterable[Said], gone: dict[tuple[str, str], set[int]]) -> Iterator[Part]:
    for message in said:
        numbers = gone.get((message.thread_id, message.id))
        if numbers is not None:
            yield Part(message, _without(message.text, numbers))


def _without(text: str, numbers: Collection[int]) -> str:
    """A text without the sentences of these numbers, and else as it was."""
    kept, end = "", 0
    for at, (start, stop) in enumerate(sentence_spans(text)):
        kept += text[end:start] + (text[start:stop] if at not in numbers else "")
        end = stop
    return kept.strip()


def _distinct(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple({key(sentence): sentence for sentence in sentences}.values())[:_TOLD]
