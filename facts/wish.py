"""`Wish`: one request to forget, and how much of it a sentence says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import Final

from ..state.fact_records import USER, Fact
from ..state.records import Role
from ..text.fold import bare
from ..text.words import is_question
from .commands import FactCommand, attribute_named
from .extraction import Occasion, extract, facts_in
from .language import Language
from .words import content_terms, key

PART: Final = 0.5
"""The share of the words of a request that a sentence holds which may be meant."""

REPEATS: Final = 0.6
"""The share of these words that a sentence holds which repeats it."""

FEW: Final = 2
"""Words that tell which sentence is meant; a single one is in too many."""

_ALIKE: Final = 0.4
"""The share of the shorter of two words that both begin with where they are forms of one: where verbs are bent."""

_LEAST: Final = 3
_PREFIX: Final = 3


class Wish:
    """One request, read: what a sentence must say to be meant. What it thinks of a sentence is kept: many come again.

    Args:
        command: "forget", "forget named" or "forget about".
        language: that of the message that asks.
        said: where and when it was asked.
        known: what is known of the user: it tells the values of what a request names, as "my address".
    """

    def __init__(self, command: FactCommand, language: Language, said: Occasion, known: Iterable[Fact] = ()) -> None:
        self.command = command
        self.language = language
        self.terms_of = cache(self._terms_of)
        self.share = cache(self._share)
        words = _as_said(command.words, language)
        self.plain = language.normalized(words)
        self.terms = frozenset(content_terms(words, language))
        self.negated = language["negation"].search(self.plain) is not None
        self.said = said
        self.attribute = attribute_named(command.words, language)
        stated = extract(words, said, language=language)
        # "my address" alone states nothing, whatever the patterns make of it.
        self.asked = stated if self.attribute is None or any(fact.attribute for fact in stated) else []
        known = tuple(known)
        self.subject = self._subject(known)
        named = [*(fact for fact in known if self.names(fact)), *(fact for fact in stated if fact.slot is not None)]
        self.named = {bare(fact.value) for fact in named if fact.value and fact.kind != "preference"}
        self.values: set[str] = set()
        self.told = {self.terms} if len(self.terms) >= FEW and self.attribute is None else set()

    @property
    def is_thing(self) -> bool:
        """Whether it names something ("my phone number", "the password of my bank"), and states nothing."""
        if self.command.act == "forget named":
            return len(self.terms) >= FEW
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

    def _terms_of(self, text: str) -> tuple[str, ...]:
        """The words of a text, as those of the request are compared."""
        return content_terms(text, self.language)

    def may_concern(self, text: str) -> bool:
        """Whether a text holds so many of the words, in some form, that a sentence may be meant: a quick look."""
        plain = bare(text)
        held = sum(term[:_PREFIX] in plain for term in self.terms)
        return self._has_value(plain) or (held > 0 and held >= PART * len(self.terms))

    def _share(self, sentence: str, role: Role) -> float:
        """How much of the request a sentence says, in [0, 1]; 1 where it is what is meant."""
        if not self.may_concern(sentence):
            return 0.0
        held = self.held(self.terms_of(sentence))
        if role != "user":
            return held if self.command.act == "forget about" or len(self.terms) >= FEW else 0.0
        if held < 1.0 and not self._has_value(bare(sentence)):
            return held
        return self._share_of_own(sentence, held)

    def _share_of_own(self, sentence: str, held: float) -> float:
        """The same of a sentence of the user's, by what it states."""
        found: list[Fact] = []
        for fact in facts_in(sentence, self.said, language=self.language):
            if self.command.act != "forget about" and self.says(fact):
                self.values.update(fact.value for fact in self.asked if fact.value)
                return 1.0
            found.append(fact)
        if named := [fact for fact in found if self.names(fact)]:
            self.values.update(fact.value for fact in named if fact.value)
            self.told.update(frozenset(fact.terms) for fact in named if len(fact.terms) >= FEW)
            return 1.0
        if self.command.act == "forget about":
            return held
        return held if held < 1.0 or self._may_say(sentence, found) else PART

    def _has_value(self, plain: str) -> bool:
        """Whether a text holds the value of what is asked for: a home, in whatever words it is told."""
        return any(value in plain for value in self.named)

    def names(self, fact: Fact) -> bool:
        """Whether a fact is the attribute that is asked for: "my address"."""
        is_it = self.attribute is not None and fact.attribute == self.attribute and not self.asked
        return is_it and (fact.subject == self.subject or self._same(fact.subject))

    def _subject(self, known: Iterable[Fact]) -> str:
        """Whom it is about: in the form in which somebody is known, where the request has another ("meines Hundes")."""
        person = self.language["people"].search(self.plain)
        named = frozenset(self.terms_of(person[0])) if person else frozenset[str]()
        for subject in {fact.subject for fact in known} - {USER}:
            terms = frozenset(self.terms_of(subject))
            if terms and (terms == named if person else terms <= self.terms):
                return subject
        return key(person[0]) if person else USER

    def _same(self, subject: str) -> bool:
        """Whether it is about somebody, in another form of the word: "собаку", "собака"."""
        return USER not in {subject, self.subject} and self.terms_of(subject) == self.terms_of(self.subject) != ()

    def says(self, fact: Fact) -> bool:
        """Whether a fact says all that the request states."""
        return any(_says(fact, asked) for asked in self.asked)

    def holds(self, fact: Fact) -> bool:
        """Whether a fact has all words of a request that states nothing by itself: "that I in Bonn live", in German.

        Its message may not have them: "I meant Bonn, not Cologne".
        """
        is_of_it = not self.asked and fact.subject == self.subject and fact.negated == self.negated
        return is_of_it and not self.is_thing and len(self.terms) >= FEW and self.held(fact.terms) == 1.0

    def hears(self, sentence: str) -> bool:
        """Whether a sentence of the user's, a fact or a pin holds all of the words."""
        return self.may_concern(sentence) and self.held(self.terms_of(sentence)) == 1.0

    def tells(self, sentence: str) -> bool:
        """Whether a sentence of somebody else, wherever, says all of what is forgotten: asked when that is known."""
        terms = frozenset(self.terms_of(sentence)) if self.may_concern(sentence) else frozenset[str]()
        return any(told <= terms for term in terms for told in self._told_by_term.get(term, ()))

    @cached_property
    def _told_by_term(self) -> dict[str, list[frozenset[str]]]:
        """What is forgotten, by the word of it that the fewest others have."""
        common = Counter(term for told in self.told for term in told)
        found: dict[str, list[frozenset[str]]] = {}
        for told in self.told:
            found.setdefault(min(told, key=lambda term: (common[term], term)), []).append(told)
        return found

    def repeats(self, sentence: str) -> bool:
        """Whether a sentence of the reply repeats what is forgotten: asked when that is known."""
        terms = self.terms_of(sentence)
        return not self._value_terms.isdisjoint(terms) or self.held(terms) >= REPEATS

    @cached_property
    def _value_terms(self) -> frozenset[str]:
        return frozenset(term for value in self.values for term in self.terms_of(value))

    def _may_say(self, sentence: str, found: Sequence[Fact]) -> bool:
        """Whether a sentence with all the words says it of the same, as far as its words tell."""
        plain = self.language.normalized(sentence)
        if is_question(sentence) or (self.language["negation"].search(plain) is not None) != self.negated:
            return False
        if any(_denies(fact, asked) for fact in found for asked in self.asked):
            return False
        subject = self.asked[0].subject if self.asked else self.subject
        if found and all(fact.subject != subject for fact in found):
            return False
        if self.is_thing or len(self.terms) >= FEW:
            person = self.language["people"].search(plain)
            return (key(person[0]) if person else USER) == self.subject or self.is_thing
        return set(self.terms_of(sentence)) <= self.terms


def _says(fact: Fact, asked: Fact) -> bool:
    """Whether a fact says all that another one says, of the same."""
    if fact.subject != asked.subject or fact.negated != asked.negated:
        return False
    if fact.slot is not None and fact.slot == asked.slot:
        return _words_of(asked.value) <= _words_of(fact.value)
    tastes = (fact.attribute or "").startswith("taste ") and (asked.attribute or "").startswith("taste ")
    if (tastes and fact.value != asked.value) or (fact.kind == "preference" and asked.kind != "preference"):
        return False
    return bool(asked.terms) and set(asked.terms) <= set(fact.terms)


def _words_of(value: str | None) -> set[str]:
    return set((value or "").replace(",", " ").split())


def _denies(fact: Fact, asked: Fact) -> bool:
    """Whether a fact says something else of the same: likes, for dislikes."""
    return fact.slot is not None and fact.slot == asked.slot and fact.value != asked.value


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
