"""How many of a set there are, and that it grew or shrank: "two dogs", "we got a third one". Pure functions.

A count has one value at a time: "three dogs" ends "two dogs". What grows or shrinks a set contradicts nothing: both
stand, and the count before is doubtful from then on. The words are data, `text/data/counts.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from ..state.fact_records import USER, Fact
from ..text.data import load
from ..text.fold import fold
from ..text.terms import terms
from .clauses import Clause
from .language import AFTER_WORD, BEFORE_WORD, Language, folded_source, languages

COUNT: Final = "count "
"""What the attribute of a fact begins with that tells how many there are of something."""

MORE: Final = "more "
"""The same of one that tells of one more; nothing follows where it does not say of what ("a third one")."""


_SHORTEST: Final = 3
_LONGEST_ENDING: Final = 3
"""Letters that an ending adds to a noun, at most."""


class _Words(NamedTuple):
    numbers: dict[str, str]
    ordinals: dict[str, str]
    counts: re.Pattern[str]
    more: re.Pattern[str]
    one: re.Pattern[str]
    part: re.Pattern[str]
    kinds: re.Pattern[str]
    by_verb: bool


class Counted(NamedTuple):
    """The attribute and the value of a clause that tells a number of the user's.

    `is_lasting`: of people or things that one has for long, and not of meetings. `is_own`: its verb tells that it is
    of the user.
    """

    attribute: str
    value: str
    is_lasting: bool
    is_own: bool = False


def count_of(plain: str, language: Language) -> Counted | None:
    """What a clause tells that says how many the user has of one thing, and of no other."""
    words = _words(language.code)
    found = [*words.counts.finditer(plain)] if words else []
    if not words or len(found) != 1 or language["join"].search(plain, found[0].end()):
        return None
    said = found[0]["noun"]
    noun = _noun(said, language)
    return Counted(COUNT + noun, _number(found[0]["n"], words.numbers), _lasts(said, words, language)) if noun else None


def more_of(clause: Clause, language: Language) -> Counted | None:
    """What a clause tells that says there is one more: of what, and the how manieth, as far as it is said."""
    words = _words(language.code)
    match = words.more.search(clause.plain) if words else None
    if not words or match is None:
        return None
    named = match.groupdict()
    noun = named.get("noun") or named.get("noun2") or ""
    if words.one.fullmatch(noun):
        noun = ""
    if noun and not _lasts(noun, words, language):
        return None
    return Counted(
        MORE + _noun(noun, language), _number(named.get("o") or "", words.ordinals), bool(noun), words.by_verb
    )


def names_part(plain: str, language: Language) -> bool:
    """Whether a clause is about one of several of the user's."""
    words = _words(language.code)
    kinds = (words.kinds, language["people"]) if words and words.part.search(plain) else ()
    return any(kind.search(plain) for kind in kinds)


def without_part(plain: str, language: Language) -> str:
    """A clause without the words for one of several."""
    words = _words(language.code)
    return words.part.sub(" ", plain) if words else plain


def is_more(fact: Fact) -> bool:
    """Whether a fact tells of one more of a set."""
    return (fact.attribute or "").startswith(MORE)


def grown(new: Fact, known: Iterable[Fact]) -> Fact | None:
    """The open count that one more makes doubtful: of the same thing, else the newest that fits; None: there is none.

    Args:
        new: a fact that tells of one more.
        known: the facts before it.
    """
    noun = (new.attribute or "").removeprefix(MORE)
    before = str(int(new.value) - 1) if new.value else None
    counts = [fact for fact in known if _is_count(fact) and fact.is_open and fact.said_at <= new.said_at]
    of_it = [fact for fact in counts if noun and _is_same(noun, (fact.attribute or "").removeprefix(COUNT))]
    # Of what there are two or three tells by itself what a third or fourth one is.
    fitting = of_it or [fact for fact in counts if before == fact.value or not (noun or before)]
    return max(fitting, key=lambda fact: (fact.confirmed_at, fact.id), default=None)


def is_part(ended: str, whole: Fact, language: Language) -> bool:
    """Whether what is lost is one of several: "one of them", or "my dog" of "two dogs"."""
    if not _is_count(whole) or whole.value == "1":
        return False
    words = _words(language.code)
    if words and words.part.search(language.normalized(ended)):
        return True
    said, noun = set(fold(ended).split()), (whole.attribute or "").removeprefix(COUNT)
    of_set = [word for word in fold(whole.text).split() if _noun(word, language) == noun]
    return language.spaced and bool(of_set) and said.isdisjoint(of_set)


def counted_again(new: Fact, old: Fact) -> bool:
    """Whether a count holds what was counted as one more before."""
    return is_more(old) and old.is_open and new.attribute == COUNT + (old.attribute or "").removeprefix(MORE)


def _is_count(fact: Fact) -> bool:
    return fact.subject == USER and not fact.negated and (fact.attribute or "").startswith(COUNT)


def _noun(word: str, language: Language) -> str:
    """What a thing is called, whatever its number; nothing of nothing."""
    if language.spaced:
        return next(iter(terms(word, language.code)), "")
    words = _words(language.code)
    known = [match for kind in ((words.kinds, language["people"]) if words else ()) for match in kind.finditer(word)]
    return max(known, key=lambda match: (match.end(), -match.start()))[0] if known else word


def _lasts(noun: str, words: _Words, language: Language) -> bool:
    """Whether something is a person or a thing that one has for long, in whatever number."""
    if not language.spaced:
        return any(kind.search(noun) for kind in (words.kinds, language["people"]))
    forms = [noun[:end] for end in range(max(min(_SHORTEST, len(noun)), len(noun) - _LONGEST_ENDING), len(noun) + 1)]
    return any(kind.fullmatch(form) for kind in (words.kinds, language["people"]) for form in forms)


def _is_same(one: str, other: str) -> bool:
    """Whether two stems are of one thing."""
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter[: max(_SHORTEST, len(shorter) - 1)])


def _number(said: str, numbers: dict[str, str]) -> str:
    if said.isdigit():
        return said
    return next((value for word, value in numbers.items() if re.fullmatch(word, said)), "")


@cache
def _words(code: str) -> _Words | None:
    data = load("counts").get(code)
    if data is None:
        return None
    parts = {
        name: dict(part.split("=", 1) for part in fold(data[name]).split(", ")) for name in ("numbers", "ordinals")
    }
    spaced = languages()[code].spaced
    edge = (BEFORE_WORD, AFTER_WORD) if spaced else ("", "")

    def pattern(source: str) -> re.Pattern[str]:
        return re.compile(f"{edge[0]}(?:{folded_source(source)}){edge[1]}")

    def some(name: str) -> str:
        return "|".join(part for part in data[name].split(", ") if part) or "(?!)"

    number, ordinal = rf"(?P<n>{'|'.join(parts['numbers'])}|\d{{1,2}})", f"(?P<o>{'|'.join(parts['ordinals'])})"
    return _Words(
        parts["numbers"],
        parts["ordinals"],
        pattern(data["count"].replace("{n}", number)),
        pattern(data["more"].replace("{o}", ordinal)),
        pattern(some("one")),
        pattern(some("part")),
        re.compile(f"(?:{folded_source(some('kinds'))})"),
        bool(data.get("by_verb")),
    )
