"""How much of what was found is told: as long as it is likely enough to be what the question is about."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..text.bm25 import idf
from ..text.scope import Scope

CROWD: Final = 100
"""Candidates among which relevance is shared, the best; where there are fewer, as if others had a score of 0."""

SPREAD: Final = 3.0
"""The score, in units of idf, by which a candidate is e times as likely as another; by trial on two conversations of
LoCoMo."""


class Bounds(NamedTuple):
    """From where on what was found is told.

    Attributes:
        relevance: of a hit, in [0, 1].
        certainty: of the question, that anything bears on it: log odds.
        is_wide: whether a hit may be however far below the best.
    """

    relevance: float
    certainty: float
    is_wide: bool = False


ALL: Final = Bounds(0.0, -np.inf)
"""All that was asked for, however little it bears on the question."""

LEAST: Final[Mapping[Scope, Bounds]] = MappingProxyType(
    {
        "one": Bounds(0.006, -1.3),
        "many": Bounds(0.004, -1.8),
        "order": Bounds(0.003, -2.4, is_wide=True),
        "whole": Bounds(0.003, -1.8, is_wide=True),
    }
)
"""From where on hits are told, by what the question asks for: relevance by trial on two conversations of LoCoMo,
certainty by the curves of LoCoMo, LongMemEval and BEAM in `bench/README.md`. Of a whole as much is told as has room."""

LEAST_FOR_REMARK: Final = Bounds(0.12, 0.5)
"""The same for a message that asks for nothing."""

LEAST_IN_PASSING: Final = Bounds(0.06, -1.0)
"""The same for one that asks for something in passing, in less than half of its sentences."""

BELOW: Final = 2.0
"""How far below the best that is no question a hit may be, in idf of the rarest term: in a small memory little stands
out by its shares."""

LATER: Final = 3.0
"""The same for what people said later than that, which may have changed it in other words; see "Read and answered"."""

TOGETHER: Final = 10
"""Hits that together should say most of the question's words."""

FIRST: Final = 5
"""Hits of which one should be near to the question."""

APART: Final = 0.2
"""How far the nearest stands out, in cosine before the fifth (or 0), to count as much as all words of the question."""

ANSWERS: Final = 0.32
"""A cosine that four of five answers have: what is less near, and of which no word was said, counts less.

So in LongMemEval and in the English half for tuning of `bench/languages.py`.
"""

CERTAINTY: Final = (-5.43, 3.47, 0.20, 3.51)
"""Log odds that what is asked for was said: a constant, and by how the question is met in words or meaning, the best
score in idf of the rarest term, and the cosine.

Fitted on two conversations of LoCoMo and on LongMemEval, whole and in parts (their questions, those whose evidence is
in other parts, and those of other sets), and on the tests' own memory, which is asked in other words.
"""

NOTHING: Final = 16.0
"""How far above the last of the crowd the answer mostly stands, where there is one; by trial on LoCoMo, with questions
about another conversation beside its own."""

TELLING: Final = 0.5
"""Rarity of a name, as a share of that of one that is in one message, from which something is told of it."""

FLOOR: Final = 1.0
"""The least score of the keyword arm, in units of idf, with which a message is recalled for its words alone."""

Numbers = NDArray[np.float64]


def certainty(scores: Numbers, met: NDArray[np.float32], cosines: Numbers, rarest: float) -> float:
    """Log odds that what is asked for was said, and not something else of the same kind; infinite without cosines.

    A question is met where its words are said in few places, or where one thing alone is near to what it means: people
    ask in other words than they told. What was never said has neither, as a rule.

    Args:
        scores: of the candidates.
        met: how much of each term of the question, in rows, each of them and what stands around it says: of all 1.
        cosines: of each; NaN where the vector arm did not bring it.
        rarest: idf of a term that is in one message.
    """
    best = np.argsort(-scores)[:TOGETHER]
    near = cosines[best[:FIRST]]
    nearest = np.sort(np.append(cosines[~np.isnan(cosines)], np.zeros(FIRST)))[-FIRST:]
    if np.isnan(near).all():
        return np.inf
    in_words = float(met[:, best].max(axis=1).sum())
    as_near = in_words + (1 - in_words) * min(1.0, nearest[-1] / ANSWERS)
    either = max(in_words, as_near * (nearest[-1] - nearest[0]) / APART)
    return float(np.dot(CERTAINTY, (1.0, either, scores.max() / rarest, np.nanmax(near))))


def said_by_another(scores: Numbers, is_named: NDArray[np.bool_], of_others: NDArray[np.bool_]) -> bool:
    """Whether a question is about somebody who speaks here, and the best for it is what somebody else said of others.

    That who is named is preferred is in the scores: so the question is about the wrong one, or it was never said.

    Args:
        scores: of messages.
        is_named: which of them the question names the speaker of.
        of_others: which of them have a speaker with a name, and hold no name that is in the question.
    """
    return bool(is_named.any()) and bool((of_others & ~is_named)[scores.argmax()])


def relevances(scores: Numbers, asks: NDArray[np.bool_], times: Numbers, rarest: float) -> Numbers:
    """How likely it is, by its score, that each candidate is what is asked for, and not nothing: one a score.

    One far above the others has nearly all of it, and where many are as good as each other, each has a little: so a
    clear answer stands alone, and a question that much bears on brings much.

    Args:
        scores: of the candidates.
        asks: whether each is a question: the same one, asked earlier, is the best hit, and answers nothing.
        times: when people said each; NaN for what no person said.
        rarest: idf of a term that is in one message.
    """
    if not len(scores):
        return scores
    best = float(scores.max())
    crowd = np.sort(np.append(scores, np.zeros(max(0, CROWD - len(scores)))))[-CROWD:]
    total = np.exp((crowd - best) / SPREAD).sum() + np.exp((crowd[0] + NOTHING - best) / SPREAD)
    shares: Numbers = np.exp((scores - best) / SPREAD) / total
    answer = np.where(asks, -np.inf, scores).argmax()
    below = np.where(times > times[answer], LATER, BELOW)
    shares[scores < (scores.min() if asks.all() else scores[answer]) - below * rarest] = 0
    return shares


def leads(
    of_names: NDArray[np.bool_], at: NDArray[np.int64], scores: Numbers, answers: NDArray[np.bool_], rarest: float
) -> NDArray[np.bool_]:
    """Of each name that is not everywhere, which of the positions that hold it and answer has the best score.

    Args:
        of_names: which of all positions hold each name, in rows.
        at: the positions that are asked for.
        scores: theirs.
        answers: which of them are no question.
        rarest: idf of a term that is in one message.
    """
    found = np.zeros(len(at), dtype=bool)
    for holding in of_names:
        own = holding[at] & answers
        if own.any() and idf(len(holding), np.array([holding.sum()]))[0] >= TELLING * rarest:
            found[np.where(own, scores, -np.inf).argmax()] = True
    return found


def is_enough(lexical: Numbers, is_near: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which candidates are recalled: for their meaning, or for their words alone.

    In a memory of a few messages no word is rare: there, where nothing is near, the best of what has one is recalled.

    Args:
        lexical: the score of the keyword arm of each, in units of idf.
        is_near: whether each is, by its meaning.
    """
    floor = FLOOR if is_near.any() else min(FLOOR, float(lexical.max(initial=0.0)))
    return np.asarray((lexical >= floor) & (lexical > 0) | is_near)
