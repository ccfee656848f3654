"""From where on what was found is told in a turn."""

from __future__ import annotations

from typing import Final

from ..memory.breadth import LEAST, LEAST_FOR_REMARK, LEAST_IN_PASSING, Bounds
from ..search.router.keywords import read_question
from ..search.router.wordlists import word_lists
from ..state.records import now
from ..text.language import language_of
from ..text.requests import is_closed, is_task, requests
from ..text.scope import scope_of
from ..text.sentences import sentences

_CHARACTERS: Final = 2000
"""Of a message that are read to see whether it is one sentence."""

_GREETINGS: Final = 3
"""Sentences before or behind it that may greet or thank."""


def least_told(question: str) -> Bounds:
    """From where on what was found is told: a remark, in a language whose questions are known, wants little, and what
    is given to do ("write a card for my mother") more.

    One sentence that asks for a whole or an order is no remark ("Thanks. Catch me up on the landlord.").
    The first call reads word lists from disk (blocking).
    """
    share, bounds = asking_share(question), LEAST[scope_of(question)]
    if 2 * share >= 1 or (bounds.is_wide and _is_one(question)):
        return bounds
    return LEAST_IN_PASSING if share or is_task(question) else LEAST_FOR_REMARK


def _is_one(question: str) -> bool:
    """Whether a message is one sentence, greetings and thanks aside."""
    said = sentences(question[:_CHARACTERS])
    if len(said) > 1 + _GREETINGS:
        return False
    read = [read_question(sentence, now().year) for sentence in said]
    return sum(not (reading.trivial or reading.bare) for reading in read) == 1


def asking_share(question: str) -> float:
    """The share of the sentences of a message that ask for something.

    What is not known to ask or to tell ("rent amount", "dentist") asks, unless it ends in a full stop; so does all in
    a language whose questions are not known. The first call reads word lists from disk (blocking).
    """
    reading = read_question(question, now().year)
    if reading.trivial or requests(question):
        return float(not reading.trivial)
    asks = {"asks"} if is_closed(question) else {"asks", "brief"}
    language = language_of(question)
    if language is None or language not in word_lists().languages:
        return float("brief" in asks or any(part.manner == "asks" for part in reading.parts))
    return sum(part.manner in asks for part in reading.parts) / max(1, len(reading.parts))
