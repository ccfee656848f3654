"""Bridges: what the first hits name and the question does not leads to what else was said about it.

"What did Ada's sister study?" finds that she is called Mira, and so what was said of Mira.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .user_memory import Indices, Numbers, UserMemory, View

FIRST: Final = 5
"""Hits that are looked at, the best; none of an assistant's, whose long replies name much."""

BRIDGE: Final = 1.5
"""What a term that hardly any message has adds to one that shares it with the best hit.

By trial, as the others, on three conversations of LoCoMo; checked on its other four and on the other sets.
"""

LESS: Final = 3.0
"""The score, in units of idf, by which what a hit names counts less by the factor e."""

_RARE: Final = 0.02
_FEW: Final = 3
"""The share, or else the number, of messages in which a term is that still tells what is spoken of."""

_OFTEN: Final = 4
"""How many times a message says a term, at most on average: what is said more often than that is in too many."""


def bridged(
    memory: UserMemory, view: View, at: Indices, scores: Numbers, *, by_people: NDArray[np.bool_], asked: Sequence[int]
) -> Numbers:
    """The scores after it: arrays of one length. Only within a thread, since elsewhere a word may mean something else.

    What is found so comes behind the first hits.

    Args:
        memory: the user's; its lock is held.
        view: the messages.
        at: the positions of those that have scores.
        scores: theirs.
        by_people: which of them people said, and not the assistant.
        asked: the keys of the terms of the question.
    """
    people = np.flatnonzero(by_people)
    best = people[np.argsort(-scores[people], kind="stable")[:FIRST]]
    if not len(best):
        return scores
    hits, weights = at[best], np.exp((scores[best] - scores.max()) / LESS)
    number = len(view.rows)
    most = max(_FEW, int(_RARE * number))
    terms, holders = memory.holders(view, hits, asked, _OFTEN * most)
    holding = np.bincount(terms)[terms]
    is_rare = (holding >= 2) & (holding <= most)
    terms, holders, holding = terms[is_rare], holders[is_rare], holding[is_rare]
    of_hits = np.zeros((terms.max(initial=0) + 1, len(hits)), dtype=bool)
    for n, hit in enumerate(hits):
        of_hits[terms[holders == hit], n] = True
    threads = view.messages["thread"]
    leads = (threads[holders][:, None] == threads[hits]) & (holders[:, None] != hits) & of_hits[terms]
    worth = (leads * weights).max(axis=1, initial=0) * (1 - np.log(holding) / np.log(number))
    added = np.bincount(holders, worth, minlength=number)
    lifted: Numbers = np.minimum(scores + BRIDGE * added[at] * by_people, scores[best[-1]])
    return np.maximum(scores, lifted)
