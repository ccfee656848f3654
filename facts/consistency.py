"""A new summary against what is known of the user (seed `004`, "consistency checker"): pure functions.

A summary speaks of "the user". In English its sentences are read as the user's own ("The user lives in Bergen" as "I
live in Bergen") by the patterns that read messages; what they say of a thing that has one value at a time is compared
with what is known of it. A value that its sources name is no contradiction: people move.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..state.fact_records import Fact
from ..text.fold import fold
from .extraction import Occasion, extract
from .ledger import contradict

_OWN: Final = re.compile(r"\b[Tt]he user's\b")
_DOES: Final = re.compile(r"\b[Tt]he user (is|has|was|(?:[a-z]+?)(?:es|s)?)\b")
_FIRST: Final = {"is": "am", "has": "have", "was": "was"}


def told_of_user(summary: str, at: Occasion) -> list[Fact]:
    """What a summary says of the user that has one value at a time, as facts in the user's words.

    Args:
        summary: its text.
        at: stands for where it was said.
    """
    own = _DOES.sub(lambda said: f"I {_first_person(said[1])}", _OWN.sub("My", summary))
    return [fact for fact in extract(own, at) if fact.slot is not None and fact.value]


def contradicted(told: Iterable[Fact], known: Iterable[Fact], source: str) -> list[Fact]:
    """What is known and open of that which a summary tells otherwise, though its sources do not.

    Args:
        told: see `told_of_user`.
        known: facts of the same slots.
        source: what the summary was made from.
    """
    heard = fold(source)
    invented = [fact for fact in told if fold(fact.value or "") not in heard]
    return [fact for fact in known if fact.is_open and any(contradict(fact, other) for other in invented)]


def _first_person(verb: str) -> str:
    if verb in _FIRST:
        return _FIRST[verb]
    return verb[:-2] if verb.endswith(("ches", "shes", "sses", "xes")) else verb.removesuffix("s")
