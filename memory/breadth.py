"""How much of what was found is told: as long as it is likely enough to be what the question is about."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

CROWD: Final = 100
"""Candidates among which relevance is shared, the best; where there are fewer, as if the last came more often."""

SPREAD: Final = 3.0
"""The score, in units of idf, by which a candidate is e times as likely as another; by trial on LoCoMo."""

LEAST: Final = 0.009
"""Relevance from which a hit is told; by trial on two conversations of LoCoMo, checked on others."""

Numbers = NDArray[np.float64]


def relevances(scores: Numbers) -> Numbers:
    """How likely it is, by its score, that each candidate is what is asked for: shares of 1, one a score.

    One far above the others has nearly all of it, and where many are as good as each other, each has a little: so a
    clear answer stands alone, and a question that much bears on brings much.
    """
    if not len(scores):
        return scores
    likelihoods: Numbers = np.exp((scores - scores.max()) / SPREAD)
    crowd = np.sort(likelihoods)[-CROWD:]
    shares: Numbers = likelihoods / (crowd.sum() + (CROWD - len(crowd)) * crowd[0])
    return shares
