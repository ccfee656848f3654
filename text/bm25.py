"""BM25: how much a text bears on a question, by the words that both have and how rare these are.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; the idf is Lucene's,
which is never negative. `b` is .5, not the usual .75: our texts are messages and passages, of about one length.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.floating]

_SATURATION: Final = 1.2
"""k1: how fast a term's repetition stops to count."""

_LENGTH: Final = 0.5
"""b: how much a term in a long text counts less than one in a short text."""


def idf(number: int, holding: Numbers) -> Numbers:
    """How much terms tell, above 0: the logarithm of how rare they are.

    Args:
        number: of texts.
        holding: for each term, in how many of them it is.
    """
    return np.log1p((number - holding + 0.5) / (holding + 0.5))


def saturated(frequencies: Numbers, lengths: Numbers, mean: float) -> Numbers:
    """How much terms count in texts: 0 where they are not in them, at most `_SATURATION` + 1.

    Args:
        frequencies: how often each term, in rows, is in each text.
        lengths: of the texts.
        mean: of these lengths.
    """
    norm = _SATURATION * (1 - _LENGTH + _LENGTH / max(mean, 1e-9) * lengths)
    return frequencies * (_SATURATION + 1) / (frequencies + norm)


def bm25(frequencies: Numbers, lengths: Numbers) -> Numbers:
    """The score of each text, from 0.

    Args:
        frequencies: how often each term of the question, in rows, is in each text.
        lengths: of the texts.
    """
    if not frequencies.size:
        return np.zeros(len(lengths))
    weights = idf(len(lengths), (frequencies > 0).sum(axis=1))
    scores: Numbers = np.einsum("t,tn->n", weights, saturated(frequencies, lengths, float(lengths.mean())))
    return scores
