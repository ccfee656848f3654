"""How much of what was found is told: as long as it is likely enough to be what the question is about."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..text.scope import Scope

CROWD: Final = 100
"""Candidates among which relevance is shared, the best; where there are fewer, as if others had a score of 0."""

SPREAD: Final = 3.0
"""The score, in units of idf, by which a candidate is e times as likely as another; by trial on two conversations of
LoCoMo."""

LEAST: Final[Mapping[Scope, float]] = MappingProxyType({"one": 0.006, "many": 0.004, "order": 0.004, "whole": 0.004})
"""Relevance from which a hit is told, by what the question asks for; by trial on two conversations of LoCoMo."""

LEAST_FOR_REMARK: Final = 0.12
"""The same for a message that asks for nothing."""

LEAST_IN_PASSING: Final = 0.06
"""The same for one that asks for something in passing, in less than half of its sentences."""

NOTHING: Final = 16.0
"""How far above the last of the crowd the answer mostly stands, where there is one; by trial on LoCoMo, with questions
about another conversation beside its own."""

Numbers = NDArray[np.float64]


def relevances(scores: Numbers) -> Numbers:
    """How likely it is, by its score, that each candidate is what is asked for, and not nothing: one a score.

    One far above the others has nearly all of it, and where many are as good as each other, each has a little: so a
    clear answer stands alone, and a question that much bears on brings much.
    """
    if not len(scores):
        return scores
    best = float(scores.max())
    crowd = np.sort(np.append(scores, np.zeros(max(0, CROWD - len(scores)))))[-CROWD:]
    total = np.exp((crowd - best) / SPREAD).sum() + np.exp((crowd[0] + NOTHING - best) / SPREAD)
    shares: Numbers = np.exp((scores - best) / SPREAD) / total
    return shares
