"""How important a message is, by its words (seed `002`, "Message Importance Scoring"), in any language.

The score is stored with the message. What becomes of it moves it: to at least the score of a pin that is made of it,
up where it is recalled for a question, down where a fact in it is corrected.
"""

from __future__ import annotations

import re
from typing import Final

from langchain_core.messages import BaseMessage

from ..state.messages import message_text, role_of
from ..text.data import phrases
from ..text.fold import fold
from ..text.words import QUESTION_MARKS

BASE: Final = 0.5
QUESTION: Final = 0.2
TECHNICAL_TALK: Final = 0.15
TROUBLE_TALK: Final = 0.1
LONG: Final = 0.1
ASSISTANT: Final = 0.05

ASKED_AGAIN: Final = 0.05
"""What a message gains in a turn whose prompt brings it back."""

CORRECTED: Final = -0.2
"""What a message loses when what it says of the user is superseded by what is said later."""

LONG_CHARS: Final = 200
"""Characters above which a message is long."""


def _pattern(words: tuple[str, ...], *, at_start: bool = False) -> re.Pattern[str]:
    """A pattern for any of the words; only those in scripts with spaces end where the word does."""
    whole = "|".join(rf"{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in words)
    return re.compile(rf"\A(?:{whole})" if at_start else rf"(?<![a-z])(?:{whole})")


_QUESTION_START: Final = _pattern(phrases("summary_words", "question_starts"), at_start=True)
_TECHNICAL: Final = _pattern(phrases("summary_words", "technical"))
_TROUBLE: Final = _pattern(
    tuple(word + ending for word in phrases("summary_words", "trouble") for ending in ("", "s", "e"))
)


def score_importance(message: BaseMessage) -> float:
    """The importance of a message in [0.5, 1].

    0.5, and 0.2 for a question, 0.15 for code or technical talk, 0.1 for an error or a problem, 0.1 for more than 200
    characters, 0.05 for a reply of the assistant; 1 at most.
    """
    text = fold(message_text(message)).strip()
    score = BASE
    if any(mark in text for mark in QUESTION_MARKS) or _QUESTION_START.search(text):
        score += QUESTION
    if "```" in text or _TECHNICAL.search(text):
        score += TECHNICAL_TALK
    if _TROUBLE.search(text):
        score += TROUBLE_TALK
    if len(text) > LONG_CHARS:
        score += LONG
    if role_of(message) == "assistant":
        score += ASSISTANT
    return min(round(score, 2), 1.0)
