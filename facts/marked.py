"""What is to be kept in sight though it is no fact about the user: dates, decisions, what somebody close needs.

Seed `002`, "Automatic Semantic Pin Extraction". Sentence by sentence, by word lists (`text/data/pin_words.json`) and by
signs that need no language: a decision is said in the words of one; a date is that of an occasion; a need is that of
somebody of the family, or a friend ("my sister", "Grandma"). A question, a condition or a story is none of these.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from ..text.data import phrases
from ..text.dates import periods, tells_when
from ..text.fold import fold
from ..text.sentences import sentences
from ..text.words import is_question
from .language import Language, language_in

MARKED_SCORE: Final = 0.75
"""The score of such a pin: below one that the user asked for."""

_LONGEST: Final = 300
_MOST: Final = 3
_DAY: Final = re.compile(
    r"(?<!\w)(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)\.? ?\d{1,2}(?!\d)|\d{1,2}(?:st|nd|rd|th)(?!\w)"
    r"|(?<![\d.])\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?(?![\d%])|\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\d月|\d日|\d월"
)
_ANY_DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Any day: what is asked is whether a sentence names one that is over."""


def marked(text: str) -> list[str]:
    """The sentences of a message of the user that are to be kept in sight, in their order, up to three."""
    language = language_in(text)
    if language is None:
        return []
    found = [" ".join(sentence.split()) for sentence in sentences(text)]
    return [sentence for sentence in found if len(sentence) <= _LONGEST and _is_marked(sentence, language)][:_MOST]


def _is_marked(sentence: str, language: Language) -> bool:
    plain = fold(sentence)
    if is_question(sentence) or any(language[name].search(plain) for name in ("unreal", "fiction", "joke", "report")):
        return False
    if _says("decisions", plain):
        return True
    is_told = _DAY.search(plain) is not None or (tells_when(sentence) and not periods(sentence, _ANY_DAY))
    if is_told and _says("occasions", plain):
        return True
    return _says("needs", plain) and language["people"].search(plain) is not None


def _says(group: str, plain: str) -> bool:
    return any(
        re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)" if phrase[0] < "\u0e00" else re.escape(phrase), plain)
        for phrase in phrases("pin_words", group)
    )
