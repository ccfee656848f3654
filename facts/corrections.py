"""A slip set right: "I meant Lyon, not Lille" is what was said just before, with the other word. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from ..state.fact_records import ENDS, Fact
from ..text.sentences import sentence_spans
from .extraction import Occasion, extract
from .language import AFTER_WORD, BEFORE_WORD, Language, languages
from .words import content_terms, key

_LONGEST: Final = 60
"""Characters of what was meant, and of what was said instead."""

_TRIM: Final = " \t\n.!,;:。，！\"'“”„«»"


class Correction(NamedTuple):
    """What was said before as it was meant; the words new in it, those they stand for, and the sentence saying so."""

    text: str
    new: str
    old: str
    sentence: str


def correction(text: str, before: str, language: Language) -> Correction | None:
    """The slip that a message sets right; None where it corrects nothing of the one before.

    Args:
        text: a message.
        before: the one of the user that came before it.
        language: that of the message.
    """
    for start, end in sentence_spans(text):
        if (match := _meant(language.code).search(text, start, end)) is None:
            continue
        old, new = match["old"].strip(_TRIM), match["new"].strip(_TRIM)
        whole = (BEFORE_WORD, AFTER_WORD) if language.spaced else ("", "")
        said = re.compile(f"{whole[0]}{re.escape(old)}{whole[1]}", re.IGNORECASE)
        if old and new and said.search(before):
            return Correction(new.join(said.split(before)), new, old, text[start:end])
    return None


def set_right(slip: Correction, before: str, said: Occasion, language: Language) -> Iterator[Fact]:
    """The facts of what was said before, as it was meant, and the ends of those that were not.

    Args:
        slip: what is set right.
        before: the message that had it.
        said: where it is set right.
        language: of both.
    """
    meant = [fact for fact in extract(slip.text, said, language=language) if key(slip.new) in key(fact.text)]
    yield from (fact.model_copy(update={"settles": True}) for fact in meant)
    replaced = {fact.slot for fact in meant if fact.slot}
    for fact in extract(before, said, language=language):
        if key(slip.old) in key(fact.text) and fact.slot not in replaced:
            how, terms = "over" if fact.kind == "preference" else "lost", content_terms(slip.old, language)
            yield said.fact(
                slip.sentence.strip(), " ".join([ENDS.strip(), how, *terms]), kind=fact.kind, value=how, negated=True,
                terms=terms, confidence=fact.confidence,
            )  # fmt: skip


@cache
def _meant(code: str) -> re.Pattern[str]:
    source = str(languages()[code].data["meant"])
    for name in ("new", "old"):
        source = source.replace(name.upper(), rf"(?P<{name}>\S.{{0,{_LONGEST}}}?)")
    return re.compile(rf"{source}[\s.!。！]*$", re.IGNORECASE)
