"""From where on what was found is told in a turn."""

from __future__ import annotations

from ..memory.breadth import LEAST, LEAST_FOR_REMARK, LEAST_IN_PASSING, Bounds
from ..search.router.keywords import read_question
from ..search.router.wordlists import word_lists
from ..state.records import now
from ..text.language import language_of
from ..text.scope import scope_of


def least_told(question: str) -> Bounds:
    """From where on what was found is told: a remark, in a language whose questions are known, wants little.

    One sentence that asks for a whole or an order is no remark ("Catch me up on the landlord.").
    The first call reads word lists from disk (blocking).
    """
    share, scope = asking_share(question), scope_of(question)
    is_one = len(read_question(question, now().year).parts) == 1
    if 2 * share >= 1 or (is_one and scope in ("order", "whole")):
        return LEAST[scope]
    return LEAST_IN_PASSING if share else LEAST_FOR_REMARK


def asking_share(question: str) -> float:
    """The share of the sentences of a message that ask for something; 1 in a language whose questions are not known.

    The first call reads word lists from disk (blocking).
    """
    reading = read_question(question, now().year)
    asking = 0 if reading.trivial else sum(part.manner != "tells" for part in reading.parts)
    language = language_of(question)
    is_known = language is not None and language in word_lists().languages
    return asking / max(1, len(reading.parts)) if is_known else 1.0
