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

from ..state.fact_records import ENDS, HEALTH, USER, Fact, FactKind, FactOrigin
from .clauses import MASK, MOST_CHARACTERS, Clause, clauses
from .counts import MORE, Counted, count_of, more_of, names_part
from .endings import Ending, ending, may_be_of_user, revoked
from .few_words import language_of_few_words
from .language import Frame, Language, language_in
from .lasting import lasts
from .passing import breaks_off, denies, is_alone, is_passing, passing, predicate, tells_of_a_day, weighs_more
from .subject import KINDS, Subject, with_subjects
from .words import content_terms, key

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
    return list(facts_in(text, at, origin=origin, language=language))


def facts_in(
    text: str, at: Occasion, *, origin: FactOrigin = "pattern", language: Language | None = None
) -> Iterator[Fact]:
    """The same one by one: what follows is not read where one is enough."""
    text = text[:MOST_CHARACTERS]
    language = language or language_of_few_words(text, language_in(text))
    if language is None:
        return
    implied = len(text) <= _SHORT or language["first"].search(language.normalized(text)) is not None
    found: set[str] = set()
    for clause, subject in with_subjects(clauses(text, language), language, implied=implied):
        for fact in _facts(_Context(clause, language, at, origin), subject):
            if fact.id not in found:
                found.add(fact.id)
                yield fact


def _facts(context: _Context, subject: Subject | None) -> list[Fact]:
    clause, language = context.clause, context.language
    if language["standing"].match(clause.plain) and len(clause.text) <= _LONGEST:
        return [_fact(context, kind="instruction", negated=denies(clause.plain, language))]
    if back := revoked(clause, language):
        return [_over(back, context)]
    more = more_of(clause, language)
    if subject is None and _is_of_own(clause, more, language):
        subject = Subject(USER, clause.plain)
    if subject is None or len(clause.text) > _LONGEST or len(clause.plain) < 3 or breaks_off(clause, language):
        return []
    if subject.name == USER and (counted := _counted(context, more)):
        return [counted]
    return _told(subject, context)


def _counted(context: _Context, more: Counted | None) -> Fact | None:
    """How many of something the user has, or that there is one more."""
    clause, language = context.clause, context.language
    told = more or (None if ending(clause, language) else count_of(clause.plain, language))
    if told is None or not (told.is_lasting or told.attribute == MORE) or denies(clause.plain, language):
        return None
    # "A third one" stands only beside what it is one more of.
    return _fact(context, kind="biography", attribute=told.attribute, value=told.value, settles=told.is_lasting)


def _told(subject: Subject, context: _Context) -> list[Fact]:
    clause, language = context.clause, context.language
    plain = _without_lead(clause, subject, language)
    framed = _all_framed(language.frames, plain, context)
    over = None if language["addressed"].search(clause.plain) else ending(clause, language)
    if over and (not framed or (over.how == "over" and not any(fact.negated for fact in framed))):
        return [_ended(over, subject, context)]
    if not framed and is_passing(clause, subject.rest, language):
        return []
    is_mine = subject.name == "my"
    told = _of_theirs(subject, plain, framed, context) if is_mine else framed or _of_user(subject.rest, context)
    return [fact for fact in told if _is_kept(fact, context)]


def _is_kept(fact: Fact, context: _Context) -> bool:
    """Whether a fact is asked for, or is likely to last."""
    clause, code = context.clause, context.language.code
    return context.origin != "pattern" or lasts(clause.text, clause.plain, fact.kind, code, fact.attribute)


def _is_of_own(clause: Clause, more: Counted | None, language: Language) -> bool:
    """Whether a clause without a subject tells of the user's that there is one more of something, or an end."""
    may_be = may_be_of_user(clause, language)
    if more is not None:
        return may_be or more.is_own
    if language.verb_last and not language.spaced and may_be and count_of(clause.plain, language):
        return True
    return (may_be or names_part(clause.plain, language)) and ending(clause, language) is not None


def _of_theirs(subject: Subject, plain: str, framed: list[Fact], context: _Context) -> list[Fact]:
    language = context.language
    if language["passing_others"].search(subject.rest) or tells_of_a_day(subject.rest, language):
        return []
    theirs = _all_framed(language.their_frames, plain, context)
    return theirs or framed or _of_mine(subject.rest, context)


def _ended(over: Ending, subject: Subject, context: _Context) -> Fact:
    likes = predicate(subject.rest, context.language, "preference", anywhere=over.how == "over") is not None
    return _over(over, context, kind="preference" if likes and over.how == "over" else "biography")


def _over(over: Ending, context: _Context, kind: FactKind = "biography") -> Fact:
    """The fact that something is over."""
    return _fact(
        context,
        kind=kind,
        attribute=" ".join([ENDS.strip(), over.how, *over.terms]),
        value=over.how,
        negated=True,
    ).model_copy(update={"terms": over.terms or content_terms(context.clause.plain, context.language)})


def _without_lead(clause: Clause, subject: Subject, language: Language) -> str:
    at = clause.plain.find(subject.rest) if subject.rest else -1
    first = next(iter(language["first"].finditer(clause.plain)), None)
    return clause.plain[first.start() :] if first and first.start() <= at else clause.plain


def _all_framed(frames: Iterable[Frame], plain: str, context: _Context) -> list[Fact]:
    return [fact for frame in frames if frame.fixed in plain and (fact := _framed(frame, plain, context))]


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
    if language["alone"].fullmatch(rest):
        return [_fact(context, kind="biography")]
    if size < _SHORTEST and not is_alone(rest, language):
        return []
    fleeting = None if language["lasting"].search(rest) else passing(rest, language)
    for kind in KINDS:
        if (match := predicate(rest, language, kind)) and weighs_more(match, fleeting, language):
            return [_plain_fact(kind, rest, match, context)]
    if fleeting is None and _is_habit(context) and size > (_SHORTEST if language.spaced else _UNSPACED):
        return [_fact(context, kind="biography", negated=denies(rest, language), confidence=_HABIT)]
    return []


def _is_habit(context: _Context) -> bool:
    """Whether any verb may tell a habit: with a word for how often, where the language has a list of these."""
    clause, language = context.clause, context.language
    return language.habit and ("usual" not in language.lists or language["usual"].search(clause.plain) is not None)


def _of_mine(rest: str, context: _Context) -> list[Fact]:
    """What is said of somebody or something of the user's: "my sister ..." is about the sister."""
    language = context.language
    too_short = language.spaced and len(rest.split()) <= _SHORTEST
    if too_short or language["things"].search(rest):
        return []
    person = language["people"].search(rest)
    subject = key(person[0]) if person else USER
    kind: FactKind = next((kind for kind in KINDS if predicate(rest, language, kind, anywhere=True)), "biography")
    return [_fact(context, kind=kind, subject=subject, negated=denies(rest, language), settles=subject == USER)]


def _plain_fact(kind: FactKind, rest: str, match: re.Match[str], context: _Context) -> Fact:
    language = context.language
    negated = denies(rest, language)
    if kind == "preference":
        objects = content_terms(f"{rest[: match.start()]} {rest[match.end() :]}", language)
        if 0 < len(objects) <= _TASTE_WORDS:
            taste = "dislike" if negated else "like"
            return _fact(context, kind=kind, attribute=f"taste {' '.join(objects)}", value=taste)
    if kind == "constraint" and language["health"].search(rest):
        harms = content_terms(language["ended"].sub(" ", rest), language)
        is_over = language["ended"].search(rest) is not None or (negated and not denies(match[0], language))
        return _fact(context, kind=kind, attribute=HEALTH + " ".join(harms), value="yes", negated=is_over)
    counted = None if negated or kind != "biography" else count_of(context.clause.plain, language)
    attribute, value = counted[:2] if counted else (None, None)
    return _fact(context, kind=kind, attribute=attribute, value=value, negated=negated)


def _fact(context: _Context, *, confidence: float = _LIKELY, **about: Any) -> Fact:
    clause, language, said, origin = context
    return said.fact(
        clause.text,
        terms=content_terms(clause.plain, language),
        confidence=1.0 if origin == "user" else confidence,
        origin=origin,
        **about,
    )
