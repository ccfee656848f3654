"""What ends a fact: "not vegetarian any more", "stopped running", "sold the car", "quit my job". Pure functions.

A clause that says so is a fact of its own, whose attribute begins with `ENDS`: its value tells how, its terms what of.
It ends each older fact that says all of that, of the user.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import regex

from ..state.fact_records import ENDS, USER, Fact
from ..text.fold import fold
from ..text.terms import terms as word_terms
from .clauses import Clause
from .counts import without_part
from .language import Language, language_in
from .words import content_terms

_WORK: Final = frozenset({"job", "employer"})
_LETTER: Final = regex.compile(r"[\p{Han}\p{Katakana}ー]")
_WORDS: Final = regex.compile(r"\w+")
_ROOT: Final = 0.7
"""The share of the longer of two stems that both begin with, where they are forms of one word."""

_FEMININE: Final = "\u0629\u062a"
"""An Arabic ending that is written in another way before a suffix."""

_WEAK: Final = regex.compile(r"^[\u062a\u0645](?=.*\p{Arabic}{2})|[\u0621-\u0627\u0629\u0648-\u064a]|[^\p{Arabic}]")
"""What an Arabic word has beside its root: long vowels, and what begins a noun of a verb ("smoking" of "I smoke")."""

_OF_USER: Final = "\u0627"
"""What an Arabic verb of the user begins with, folded."""

_ROOT_LEAST: Final = 2
"""Letters of a root: the stemmer takes the last one for an ending, at times."""

_BENT: Final = 0.4
_LEAST: Final = 3
_SHORT: Final = 80
_PART: Final = 0.5
"""The share of the words that an older fact has to say: an instruction, or any where verbs bend too much."""

_APART: Final = "apart"
"""How a couple ends that does not say of whom: "we split up"."""

_LONGEST: Final = 6
"""Words of what ended, at most: "I sold 15 jars of jam at the market" tells of a day, and ends nothing."""

_REVOKED: Final = "revoked"
"""How a standing instruction ends."""


class Ending(NamedTuple):
    """How something ended ("over", "lost", "work", "apart", "revoked"), and the words for it."""

    how: str
    terms: tuple[str, ...]


def ending(clause: Clause, language: Language) -> Ending | None:
    """What a clause says is over; None where it says nothing of that kind, or not of what."""
    if language["work_over"].search(clause.plain):
        return Ending("work", ())
    if language["apart"].search(clause.plain):
        return Ending(_APART, ())
    for how in ("lost", "over"):
        if language[how].search(clause.plain):
            terms = _objects(clause.plain, language)
            is_short = len(terms) <= _LONGEST or not language.spaced
            return Ending(how, terms) if terms and is_short else None
    return None


def revoked(clause: Clause, language: Language) -> Ending | None:
    """The standing instruction that a clause takes back; None where it takes none back."""
    if not language["revoked"].match(clause.plain):
        return None
    terms = _objects(clause.plain, language)
    return Ending(_REVOKED, terms) if terms else None


def may_be_of_user(clause: Clause, language: Language) -> bool:
    """Whether a short clause without a subject may be about the user, where verbs do not tell of whom they are."""
    named = any(language[name].match(clause.plain) for name in ("article", "lost"))
    free = language.verb_last or not language.spaced or named
    of_others = language["others"].match(language.without_lead(clause.plain))
    return free and len(clause.plain) <= _SHORT and not of_others


def ends(new: Fact, old: Fact, language: Language | None = None) -> bool:
    """Whether a fact that tells an end ends an older one.

    Args:
        new: the fact that may tell an end.
        old: one that was said before.
        language: that of `new`; it is detected by default.
    """
    if not is_ending(new) or is_ending(old) or not old.is_open:
        return False
    language = language or language_in(new.text)
    if new.value == _REVOKED:
        return old.kind == "instruction" and _tells(new.terms, old, language)
    if old.negated or old.subject != USER:
        return False
    if new.value == "work":
        return old.attribute in _WORK
    if new.value == _APART:
        return language is not None and language["partners"].search(language.normalized(old.text)) is not None
    return _may_end(new, old) and _tells(new.terms, old, language)


def _may_end(new: Fact, old: Fact) -> bool:
    """Whether what ended can be of the kind of an older fact."""
    if new.value == "lost":
        return old.kind in {"biography", "constraint", "commitment"}
    return new.value != "over" or (new.kind == "preference") == (old.kind == "preference")


def is_ending(fact: Fact) -> bool:
    """Whether a fact tells the end of others."""
    return (fact.attribute or "").startswith(ENDS)


def _objects(plain: str, language: Language) -> tuple[str, ...]:
    """The words for what ended: those of the clause without what says that it ended, or that it is one of several."""
    plain = without_part(plain, language)
    for name in ("revoked", "over", "lost", "momentary", "ended", "over_noise"):
        plain = language[name].sub(" ", plain)
    if language.spaced:
        return content_terms(plain, language) or tuple(dict.fromkeys(word_terms(plain, language.code)))
    for name in ("first", "my", "lead"):
        plain = language[name].sub(" ", plain)
    letters = _LETTER.findall(plain) or [word for word in _WORDS.findall(plain) if len(word) > 1]
    return tuple(dict.fromkeys(letters)) if letters else tuple(_WORDS.findall(plain))


def _tells(terms: tuple[str, ...], old: Fact, language: Language | None) -> bool:
    """Whether an older fact says all of these words, in some form; of an instruction, half of them."""
    if not terms or language is None:
        return False
    share = _PART if language.verb_last or old.kind == "instruction" else 1.0
    if not language.spaced:
        text, parts = language.normalized(old.text), "".join(terms) if old.kind == "instruction" else terms
        return sum(part in text for part in parts) >= (share if old.kind == "instruction" else 1.0) * len(parts)
    known = set(word_terms(fold(old.text), language.code))
    bends = language.verb_last or "bends" in language.lists
    held = sum(any(_is_form(term, other, bends=bends) for other in known) for term in terms)
    return held >= share * len(terms)


def _share_root(one: str, other: str) -> bool:
    """Whether two Arabic stems are of one root: a verb of the user, and its noun."""
    first, second = _WEAK.sub("", one), _WEAK.sub("", other)
    is_pair = one.startswith(_OF_USER) != other.startswith(_OF_USER)
    return is_pair and first == second and len(first) >= _ROOT_LEAST


def _is_form(one: str, other: str, *, bends: bool) -> bool:
    """Whether two stems are of one word."""
    one, other = one.rstrip(_FEMININE), other.rstrip(_FEMININE)
    if one == other or _share_root(one, other):
        return True
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if bends:
        if min(len(one), len(other)) >= _LEAST and (one in other or other in one):
            return True
        return same >= max(_LEAST, _BENT * min(len(one), len(other)))
    return same >= max(_LEAST + 1, _ROOT * max(len(one), len(other)))
