"""`Candidates`: what both arms found with its scores, and how the sides of a comparison come to their right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from .fusion import Flags, Numbers
from .held_summaries import SummarySource
from .user_memory import Indices

EACH: Final = 2
"""Hits of each side of a question that are told, the best."""

BEHIND: Final = 5
"""How many of the whole question's hits stand before them."""


class Candidates(NamedTuple):
    """Messages, and after them summaries, with their scores: arrays of one length.

    Attributes:
        rows: the row of each message in the user's memory.
        summaries: the summaries.
        scores: of both arms together.
        lexical: of the keyword arm; 0 where it did not find it.
        cosines: of the vector arm; NaN where it did not find it.
        asks: whether it ends in a question mark.
        times: when people said it; NaN for what no person said.
        leads: whether it is the best of those that hold a name in the question.
        sure: log odds that what is asked for was said.
        rarest: idf of a term that is in one message.
    """

    rows: Indices
    summaries: Sequence[SummarySource]
    scores: Numbers
    lexical: Numbers
    cosines: Numbers
    asks: Flags
    times: Numbers
    leads: Flags
    sure: float
    rarest: float


def with_sides(whole: Candidates, sides: Sequence[Candidates]) -> Candidates:
    """The candidates of a question so that the best of each side is among the first, and told where one is sure.

    Args:
        whole: of the question.
        sides: what each side finds by itself, in the same memory.
    """
    scores, told = whole.scores.copy(), whole.leads.copy()
    level = np.sort(scores)[-min(len(scores), BEHIND + 1) :][0] if len(scores) else 0.0
    at = {row: place for place, row in enumerate(whole.rows.tolist())}
    for side in sides:
        answers = np.flatnonzero(~side.asks[: len(side.rows)])
        best = answers[np.argsort(-side.scores[answers], kind="stable")[:EACH]]
        places = [at[row] for row in side.rows[best].tolist() if row in at]
        told[places] = True
        scores[places[:1]] = np.maximum(scores[places[:1]], level)
    return whole._replace(scores=scores, leads=told, sure=max(of.sure for of in (whole, *sides)))
