"""What a clause says: its predicate, and whether it is of the moment, to the reader, or cannot be understood alone."""

from __future__ import annotations

import re

from ..state.fact_records import FactKind
from .clauses import Clause
from .language import Language


def is_passing(clause: Clause, rest: str, language: Language) -> bool:
    """Whether a clause tells nothing that lasts and stands alone, whatever its predicate is.

    Args:
        clause: as it was said.
        rest: its normalized text from the predicate on, or from the thing that is the user's.
        language: that of the clause.
    """
    plain = clause.plain
    if language["addressed"].search(plain) or language["dangling"].search(plain):
        return True
    if language["subordinate"].match(plain) or language["fleeting"].search(rest):
        return True
    if clause.joined and "joined" in language.lists and not language["joined"].match(rest):
        return True
    if language["life"].search(rest):
        return False
    if language["momentary"].search(plain):
        return not language.predicates["commitment"].search(rest)
    return _is_past(rest, language)


def tells_of_a_day(rest: str, language: Language) -> bool:
    """Whether it is said of one of the user's people or pets what they did once: "my wife made soup"."""
    person = language["people"].search(rest)
    if person is None or language["life"].search(rest) or language["lasting"].search(rest):
        return False
    return _is_past(rest[person.end() :].lstrip(), language)


def _is_past(rest: str, language: Language) -> bool:
    """Whether its predicate, the last word where the verb is last, tells what happened once."""
    if language.verb_last:
        return language.ending("past", rest) is not None
    return any(language["past"].match(rest, at) for at in _adverbs(rest, language))


def _adverbs(rest: str, language: Language) -> list[int]:
    """Where the predicate may begin: at the start, and after each adverb there."""
    starts = [0]
    while match := language["adverbs"].match(rest, starts[-1]):
        at = len(rest) - len(rest[match.end() :].lstrip())
        if at >= len(rest) or at == starts[-1]:
            break
        starts.append(at)
    return starts


def weighs_more(match: re.Match[str], passing_: re.Match[str] | None, language: Language) -> bool:
    """Whether a predicate says more than the passing one at its place: "want to learn" against "want"."""
    return passing_ is None or (not language.verb_last and match.end() > passing_.end())


def denies(text: str, language: Language) -> bool:
    """Whether a text says what is not so."""
    return language["negation"].search(text) is not None


def passing(rest: str, language: Language) -> re.Match[str] | None:
    """What says nothing that lasts: what one thinks, feels, wants of the reader just now."""
    if language.verb_last:
        return language["passing"].search(rest)
    found = [match for at in _adverbs(rest, language) if (match := language["passing"].match(rest, at))]
    return max(found, key=lambda match: match.end(), default=None)


def predicate(rest: str, language: Language, kind: FactKind, *, anywhere: bool = False) -> re.Match[str] | None:
    """The predicate of a kind with which normalized text begins, or which it holds `anywhere`."""
    pattern = language.predicates.get(kind)
    if pattern is None:
        return None
    if language.verb_last or anywhere:
        return pattern.search(rest)
    return next((match for at in _adverbs(rest, language) if (match := pattern.match(rest, at))), None)


def is_alone(plain: str, language: Language) -> bool:
    """Whether a predicate needs no other word: "smoke", "pregnant"."""
    return bool(language["alone"].fullmatch(plain) or language.predicates["constraint"].fullmatch(plain))


def breaks_off(clause: Clause, language: Language) -> bool:
    """Whether a clause ends in an article: what followed was code or a quote."""
    return language.spaced and language["article"].fullmatch(clause.plain.rpartition(" ")[2]) is not None
