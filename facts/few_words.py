"""The language of a message too short for a detector, by what it tells of the user: "Je fume", "Sono vegana"."""

from __future__ import annotations

from typing import Final

from .language import Language, languages
from .passing import is_alone, passing, predicate
from .subject import KINDS

_LONGEST: Final = 30
"""Characters of such a message, at most."""

_ALIKE: Final = frozenset({"es", "fr", "it", "pt"})
"""Languages that a detector takes for each other where there are only a few words."""


def language_of_few_words(text: str, detected: Language | None = None) -> Language | None:
    """A language in which a few words tell something of oneself: too little for a detector.

    One word may be the same in several languages, and so may more: then the first of them reads them.

    Args:
        text: a message.
        detected: its language, as a detector has it; it stands, but where one that is much like it tells something and
            this does not.
    """
    text = text.strip()
    if len(text) > _LONGEST or (detected and not _may_be_another(text, detected)):
        return detected
    known = languages().values()
    if " " not in text:
        return next((one for one in known if is_alone(one.normalized(text).rstrip(" .!"), one)), None)
    may_be = (one for one in known if one.spaced and (detected is None or one.code in _ALIKE))
    found = [one for one in may_be if _begins_with_oneself(text, one)]
    return detected if detected in found else next(iter(found), detected)


def _may_be_another(text: str, detected: Language) -> bool:
    """Whether a few words in what may be another language say nothing in this one, not even that they tell nothing."""
    return detected.code in _ALIKE and " " in text and not _tells_nothing(detected.normalized(text), detected)


def _tells_nothing(plain: str, language: Language) -> bool:
    starts = (language[name].match(plain) for name in ("question_start", "others"))
    return any(starts) or passing(language.without_lead(plain), language) is not None


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
