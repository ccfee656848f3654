"""Who a clause is about: the user, somebody or something of theirs, or nobody we know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ..state.fact_records import USER, FactKind
from .clauses import Clause
from .language import Language
from .passing import predicate

KINDS: Final[tuple[FactKind, ...]] = ("constraint", "commitment", "goal", "preference", "biography")
"""In the order in which a clause is tried for them."""


class Subject(NamedTuple):
    """Who a clause is about: `USER`, or "my" of somebody or something of theirs."""

    name: str
    rest: str
    """The clause after the subject."""


def with_subjects(
    said: Iterable[Clause], language: Language, *, implied: bool
) -> Iterator[tuple[Clause, Subject | None]]:
    """The clauses that state something, and who each is about: the one before, where it goes on with that."""
    subject: Subject | None = None
    before = ""
    supposed = sentence = quoted = -1
    for clause in said:
        quoted = clause.sentence if language.ending("report", before.rstrip(" :,")) else quoted
        before = clause.plain
        # "Always cite sources if I ask about medicine" supposes nothing.
        is_standing = language["standing"].match(clause.plain) is not None
        unreal = not is_standing and language["unreal"].search(clause.plain) is not None
        supposed = clause.sentence if unreal else supposed
        if unreal or clause.asks or quoted == clause.sentence or (language.verb_last and clause.sentence == supposed):
            subject = None
            continue
        own = None if clause.joined else _subject(clause.plain, language, implied=implied)
        goes_on = clause.joined or (
            not language.spaced and clause.sentence == sentence and _goes_on(clause.plain, language)
        )
        if own is None and goes_on and subject is not None and subject.name == USER:
            own = Subject(USER, clause.plain)
            clause = clause._replace(plain=f"{language.pronoun}{clause.plain}")  # noqa: PLW2901  # as if it were said
        subject, sentence = own, clause.sentence
        yield clause, subject


def _goes_on(plain: str, language: Language) -> bool:
    """Whether a clause without a subject can be one more thing said of the subject before it."""
    return not language["others"].match(plain) and any(predicate(plain, language, kind) for kind in KINDS)


def _subject(plain: str, language: Language, *, implied: bool) -> Subject | None:
    """Who a clause is about: the user, somebody of theirs, or nobody we know.

    Where the verb is last and names nobody, it is the user only if that is `implied`: the message is short, or says
    "I" somewhere; a long text without it tells of others.
    """
    rest = language.without_lead(plain)
    if language["others"].match(rest):
        return None
    if first := language["first"].match(rest):
        return Subject(USER, rest[first.end() :].strip())
    if mine := language["my"].match(rest):
        after = rest[mine.end() :].strip()
        return None if language["things"].match(after) else Subject("my", rest)
    if language["first_verbs"].match(rest) or _is_implied(rest, language, implied=implied):
        return Subject(USER, rest)
    return Subject("my", rest) if language["mine"].search(rest) else None


def _is_implied(plain: str, language: Language, *, implied: bool) -> bool:
    return implied and bool(language["first_ends"].search(plain)) and not language["topic"].match(plain)
