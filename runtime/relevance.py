"""From which relevance on what was found is told in a turn."""

from __future__ import annotations

from ..memory.breadth import LEAST, LEAST_FOR_REMARK, LEAST_IN_PASSING
from ..search.router.keywords import read_question
from ..search.router.wordlists import word_lists
from ..state.records import now
from ..text.language import language_of
from ..text.scope import scope_of


def least_relevance(question: str) -> float:
    """The relevance from which what was found is told: a remark, in a language whose questions are known, wants little.

    The first call reads word lists from disk (blocking).
    """
    asking, parts = _asking(question)
    if 2 * asking >= parts:
        return LEAST[scope_of(question)]
    return LEAST_IN_PASSING if asking else LEAST_FOR_REMARK


def asks(question: str) -> bool:
    """Whether a message asks for something, or is in a language whose questions are not known.

    The first call reads word lists from disk (blocking).
    """
    return _asking(question)[0] > 0


def _asking(question: str) -> tuple[int, int]:
    """How many sentences of a message ask for something, and how many there are."""
    reading = read_question(question, now().year)
    asking = 0 if reading.trivial else sum(part.manner != "tells" for part in reading.parts)
    language = language_of(question)
    is_known = language is not None and language in word_lists().languages
    return (asking, len(reading.parts)) if is_known else (1, 1)
