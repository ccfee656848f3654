"""The language of a message too short for a detector, by what it tells of the user: "Je fume", "Sono vegana"."""

from __future__ import annotations

from typing import Final

from .language import Language, languages
from .passing import is_alone, predicate
from .subject import KINDS

_LONGEST: Final = 30
"""Characters of such a message, at most."""


def language_of_few_words(text: str) -> Language | None:
    """A language in which a few words tell something of oneself: too little for a detector.

    One word may be the same in several languages; more words count only where they tell it in a single one.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if " " not in text:
        return next((one for one in languages().values() if is_alone(one.normalized(text).rstrip(" .!"), one)), None)
    found = [one for one in languages().values() if one.spaced and _begins_with_oneself(text, one)]
    return found[0] if len(found) == 1 else None


def _begins_with_oneself(text: str, language: Language) -> bool:
    """Whether a text begins with the user and a predicate of theirs."""
    plain = language.normalized(text).rstrip(" .!")
    if any(language[name].match(plain) for name in ("question_start", "others", "passing")):
        return False
    first = language["first"].match(plain)
    rest = plain[first.end() :].strip() if first else plain
    if first is None and language["first_verbs"].match(plain) is None:
        return False
    framed = any(frame.pattern.search(plain) for frame in language.frames if frame.fixed in plain)
    return framed or is_alone(rest, language) or any(predicate(rest, language, kind) for kind in KINDS)
