"""Where all that was said is asked for, without a subject: people's messages from the whole span."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import numpy as np

from ..text.bm25 import idf
from .candidates import Candidates
from .user_memory import UserMemory, View

PARTS: Final = 40
"""Equal parts of the span, of each of which something is told before more is of another."""

_LONG: Final = 60
"""Terms from which on a message tells no more by being longer."""

_ECHO: Final = 4.0
"""What is taken off, times the cosine with what was said before: thanks for a reply tell little. By trial on BEAM."""

_NEXT: Final = 10.0
"""How far the next of a part stands behind the one before: more than scores of one part differ."""

_BEGUN: Final = 4
"""Messages up to which a thread has but begun, so that the others are meant."""


def course(memory: UserMemory, view: View, thread_id: str, until: datetime | None) -> Candidates:
    """What people said in this thread, or in all where it has but begun: the longest of each part of the span first.

    Who says much that is no answer to a reply says what it is about. Nothing is compared with the question, so that
    there is no doubt whether something bears on it.

    Args:
        memory: the user's; its lock is held.
        view: the messages.
        thread_id: where it is asked.
        until: leave out what was said later.
    """
    known = np.ones(len(view.rows), dtype=bool) if until is None else view.timeline.times <= until.timestamp()
    start, stop = view.timeline.span(thread_id)
    start, stop = (start, stop) if known[start:stop].sum() > _BEGUN else (0, len(view.rows))
    said = known & view.messages["by_people"]
    said[:start] = said[stop:] = False
    at = np.flatnonzero(said)
    told = np.log1p(np.minimum(view.timeline.lengths[at], _LONG)) - _ECHO * memory.echoes(view, at)
    part = (at - start) * PARTS // max(1, stop - start)
    order = np.lexsort((-told, part))
    before = np.empty(len(at))  # of the same part
    before[order] = np.arange(len(at)) - np.searchsorted(part, part[order])
    scores = told - _NEXT * before
    none, unknown = np.zeros(len(at), dtype=bool), np.full(len(at), np.nan)
    rarest = float(idf(max(1, len(view.rows)), np.ones(1))[0])
    return Candidates(view.rows[at], (), scores, np.zeros(len(at)), unknown, none, unknown, ~none, np.inf, rarest)
