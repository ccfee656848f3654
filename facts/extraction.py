"""Facts from a message without a model: who a clause is about, what it says of them, and whether it can be relied on.

A clause is a fact if its subject is the user (or somebody the user calls theirs), its predicate says something that
lasts, and it is neither a question nor supposed, quoted, said in jest, or part of a text to be worked on. The words
for that are data, `text/data/facts/*.json`; this module knows no language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..state.fact_records import HEALTH, USER, Fact, FactKind, FactOrigin
from .clauses import MASK, MOST_CHARACTERS, Clause, clauses
from .language import Frame, Language, language_in
from .passing import adverbs, is_passing
from .words import content_terms, key

KINDS: Final[tuple[FactKind, ...]] = ("constraint", "commitment", "goal", "preference", "biography")
"""In the order in which a clause is tried for them."""

_SURE: Final = 0.9
_LIKELY: Final = 0.7
_HABIT: Final = 0.5
_SHORT: Final = 80
_SHORTEST: Final = 2
_UNSPACED: Final = 5
_LONGEST: Final = 400
_TASTE_WORDS: Final = 4
_CONSTRAINTS: Final = frozenset({"budget", "diet"})


class Occasion(NamedTuple):
    """Where something was said: the message, its thread, and when."""

    thread_id: str
    source_id: str
    said_at: datetime

    def fact(self, text: str, attribute: str | None = None, **about: Any) -> Fact:
        """What was said here, as a fact: true from then on."""
        return Fact(
            id=Fact.id_for(self.source_id, key(text), attribute),
            text=text,
            attribute=attribute,
            thread_id=self.thread_id,
            source_id=self.source_id,
            said_at=self.said_at,
            confirmed_at=self.said_at,
            valid_from=self.said_at,
            **about,
        )


class _Subject(NamedTuple):
    name: str
    rest: str
    """The clause after the subject."""


class _Context(NamedTuple):
    """A clause in its message: what all steps need to know."""

    clause: Clause
    language: Language
    said: Occasion
    origin: FactOrigin


def extract(text: str, at: Occasion, *, origin: FactOrigin = "pattern", language: Language | None = None) -> list[Fact]:
    """The facts of one message of the user, in their order; the same ones each time.

    Args:
        text: the message, in any language.
        at: where it was said.
        origin: by whom the facts are vouched for.
        language: how the text says something; that of the text itself by default.
    """
    text = text[:MOST_CHARACTERS]
    language = language or language_in(text)
    if language is None:
        return []
    implied = len(text) <= _SHORT or language["first"].search(language.normalized(text)) is not None
    found: dict[str, Fact] = {}
    for clause, subject in _about(clauses(text, language), language, implied=implied):
        for fact in _facts(_Context(clause, language, at, origin), subject):
            found.setdefault(fact.id, fact)
    return list(found.values())


def _about(said: Iterable[Clause], language: Language, *, implied: bool) -> Iterator[tuple[Clause, _Subject | None]]:
    """The clauses that state something, and who each is about: the one before, where it goes on with that."""
    subject: _Subject | None = None
    before = ""
    supposed = sentence = quoted = -1
    for clause in said:
        quoted = clause.sentence if language.ending("report", before.rstrip(" :,")) else quoted
        before = clause.plain
        unreal = language["unreal"].search(clause.plain) is not None
        supposed = clause.sentence if unreal else supposed
        if unreal or clause.asks or quoted == clause.sentence or (language.verb_last and clause.sentence == supposed):
            subject = None
            continue
        own = None if clause.joined else _subject(clause.plain, language, implied=implied)
        goes_on = clause.joined or (
            not language.spaced and clause.sentence == sentence and _goes_on(clause.plain, language)
        )
        if own is None and goes_on and subject is not None and subject.name == USER:
            own = _Subject(USER, clause.plain)
            clause = clause._replace(plain=f"{language.pronoun}{clause.plain}")  # noqa: PLW2901  # as if it were said
        subject, sentence = own, clause.sentence
        yield clause, subject


def _goes_on(plain: str, language: Language) -> bool:
    """Whether a clause without a subject can be one more thing said of the subject before it."""
    return not language["others"].match(plain) and any(_predicate(plain, language, kind) for kind in KINDS)


def _subject(plain: str, language: Language, *, implied: bool) -> _Subject | None:
    """Who a clause is about: the user, somebody of theirs, or nobody we know.

    Where the verb is last and names nobody, it is the user only if that is `implied`: the message is short, or says
    "I" somewhere; a long text without it tells of others.
    """
    rest = language.without_lead(plain)
    if language["others"].match(rest):
        return None
    if first := language["first"].match(rest):
        return _Subject(USER, rest[first.end() :].strip())
    if mine := language["my"].match(rest):
        after = rest[mine.end() :].strip()
        return None if language["things"].match(after) else _Subject("my", rest)
    if language["first_verbs"].match(rest) or _is_implied(rest, language, implied=implied):
        return _Subject(USER, rest)
    return _Subject("my", rest) if language["mine"].search(rest) else None


def _is_implied(plain: str, language: Language, *, implied: bool) -> bool:
    return implied and bool(language["first_ends"].search(plain)) and not language["topic"].match(plain)


def _facts(context: _Context, subject: _Subject | None) -> list[Fact]:
    clause, language = context.clause, context.language
    if language["standing"].match(clause.plain) and len(clause.text) <= _LONGEST:
        return [_fact(context, kind="instruction", negated=_denies(clause.plain, language))]
    if subject is None or len(clause.text) > _LONGEST or len(clause.plain) < 3 or _breaks_off(clause, language):
        return []
    plain = _without_lead(clause, subject, language)
    framed = [fact for frame in language.frames if (fact := _framed(frame, plain, context))]
    if not framed and is_passing(clause, subject.rest, language):
        return []
    if subject.name != "my":
        return framed or _of_user(subject.rest, context)
    if language["passing_others"].search(subject.rest):
        return []
    theirs = [fact for frame in language.their_frames if (fact := _framed(frame, plain, context))]
    return theirs or framed or _of_mine(subject.rest, context)


def _breaks_off(clause: Clause, language: Language) -> bool:
    """Whether a clause ends in an article: what followed was code or a quote."""
    return language.spaced and language["article"].fullmatch(clause.plain.rpartition(" ")[2]) is not None


def _without_lead(clause: Clause, subject: _Subject, language: Language) -> str:
    at = clause.plain.find(subject.rest) if subject.rest else -1
    first = next(iter(language["first"].finditer(clause.plain)), None)
    return clause.plain[first.start() :] if first and first.start() <= at else clause.plain


def _framed(frame: Frame, plain: str, context: _Context) -> Fact | None:
    match = frame.pattern.search(plain)
    if match is None:
        return None
    language, named = context.language, match.groupdict()
    attribute, said = _filled(frame, match)
    value = _value(said, language)
    if not value or MASK in value:
        return None
    head = plain[: match.start("value")] if named.get("value") else plain
    subject = key(named["they"]) if named.get("they") else USER
    return _fact(
        context,
        kind="constraint" if attribute in _CONSTRAINTS else "preference" if "{}" in frame.attribute else "biography",
        subject=subject,
        attribute=attribute,
        value=value,
        negated=bool(language["ended"].search(plain) or language["negation"].search(head)),
        confidence=_SURE,
        settles=subject == USER or bool(language["changed"].search(context.clause.plain)),
    )


def _filled(frame: Frame, match: re.Match[str]) -> tuple[str, str]:
    """The attribute that a frame names, and the value as it was said.

    A group without a name is the object of "favorite {}", or the value itself where it is one of a few words.
    """
    known = frame.pattern.groupindex.values()
    loose = [group for at, group in enumerate(match.groups(), start=1) if group and at not in known]
    attribute, said = frame.attribute, match[0]
    if loose and "{}" in attribute:
        attribute = attribute.replace("{}", key(loose[0]))
    elif loose:
        said = loose[-1]
    named = match.groupdict()
    return attribute, named.get("number") or named.get("value") or named.get("job") or said


def _value(text: str, language: Language) -> str:
    """The value itself: up to where the clause goes on to something else, without article."""
    stop = language["value_stop"].search(text, 1)
    text = key(text[: stop.start()] if stop else text)
    article = language["article"].match(text)
    return key(text[article.end() :]) if article and article.end() < len(text) else text


def _of_user(rest: str, context: _Context) -> list[Fact]:
    language = context.language
    size = len(rest.split()) if language.spaced else len(rest)
    if size < _SHORTEST:
        return []
    passing = None if language["lasting"].search(rest) else _passing(rest, language)
    for kind in KINDS:
        if (match := _predicate(rest, language, kind)) and _weighs_more(match, passing, language):
            return [_plain_fact(kind, rest, match, context)]
    if passing is None and language.habit and size > (_SHORTEST if language.spaced else _UNSPACED):
        return [_fact(context, kind="biography", negated=_denies(rest, language), confidence=_HABIT)]
    return []


def _weighs_more(match: re.Match[str], passing: re.Match[str] | None, language: Language) -> bool:
    """Whether a predicate says more than the passing one at its place: "want to learn" against "want"."""
    return passing is None or (not language.verb_last and match.end() > passing.end())


def _of_mine(rest: str, context: _Context) -> list[Fact]:
    """What is said of somebody or something of the user's: "my sister ..." is about the sister."""
    language = context.language
    too_short = language.spaced and len(rest.split()) <= _SHORTEST
    if too_short or language["things"].search(rest):
        return []
    person = language["people"].search(rest)
    subject = key(person[0]) if person else USER
    kind: FactKind = next((kind for kind in KINDS if _predicate(rest, language, kind, anywhere=True)), "biography")
    return [_fact(context, kind=kind, subject=subject, negated=_denies(rest, language), settles=subject == USER)]


def _denies(text: str, language: Language) -> bool:
    return language["negation"].search(text) is not None


def _passing(rest: str, language: Language) -> re.Match[str] | None:
    """What says nothing that lasts: what one thinks, feels, wants of the reader just now."""
    if language.verb_last:
        return language["passing"].search(rest)
    found = [match for at in adverbs(rest, language) if (match := language["passing"].match(rest, at))]
    return max(found, key=lambda match: match.end(), default=None)


def _predicate(rest: str, language: Language, kind: FactKind, *, anywhere: bool = False) -> re.Match[str] | None:
    pattern = language.predicates.get(kind)
    if pattern is None:
        return None
    if language.verb_last or anywhere:
        return pattern.search(rest)
    return next((match for at in adverbs(rest, language) if (match := pattern.match(rest, at))), None)


def _plain_fact(kind: FactKind, rest: str, match: re.Match[str], context: _Context) -> Fact:
    language = context.language
    negated = _denies(rest, language)
    if kind == "preference":
        objects = content_terms(f"{rest[: match.start()]} {rest[match.end() :]}", language)
        if 0 < len(objects) <= _TASTE_WORDS:
            taste = "dislike" if negated else "like"
            return _fact(context, kind=kind, attribute=f"taste {' '.join(objects)}", value=taste)
    if kind == "constraint" and language["health"].search(rest):
        harms = content_terms(language["ended"].sub(" ", rest), language)
        is_over = language["ended"].search(rest) is not None or (negated and not _denies(match[0], language))
        return _fact(context, kind=kind, attribute=HEALTH + " ".join(harms), value="yes", negated=is_over)
    return _fact(context, kind=kind, negated=negated)


def _fact(context: _Context, *, confidence: float = _LIKELY, **about: Any) -> Fact:
    clause, language, said, origin = context
    return said.fact(
        clause.text,
        terms=content_terms(clause.plain, language),
        confidence=1.0 if origin == "user" else confidence,
        origin=origin,
        **about,
    )
