"""Fusion of the two arms: one score for each message, from words, meaning, neighbours and speakers.

The score is in units of inverse document frequency: a term that is in few of the user's messages counts much. A term
counts for the messages around the one that holds it, too, less with each step (1 / (1 + distance)), because an
answer often does not repeat the words of its question. Meaning is added as the cosine times a weight, so that
a very similar message is worth about as much as two rare words.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .keywords import Match

SATURATION: Final = 1.2
"""BM25's k1: how fast a term's repetition stops to count."""

REACH: Final = 8
"""Messages up to this far away count as neighbours."""

ONE_SITTING: Final = timedelta(hours=36)
"""Messages further apart in time are no neighbours: talk that goes on the next day does, after two it does not."""

COSINE_WEIGHT: Final = 15.0
NAMED_SPEAKER: Final = 4.0
ASKS: Final = 1.0
REPLY: Final = 8.0
"""What is taken off an assistant's reply: what people ask for later is mostly what they said themselves, and long
replies would crowd it out. The reply comes along by pairing."""

Place = tuple[str, int]
"""Thread and sequence number of a message."""


class Reached(NamedTuple):
    """The keyword arm's score of a message, and when the match was said that reached it."""

    score: float
    matched_at: float


def lexical_scores(matches: Sequence[Match], number: int) -> dict[Place, Reached]:
    """BM25 with soft neighbours: a score for each place that a term of the question reaches.

    Args:
        matches: the messages that hold terms of the question.
        number: how many messages the user has.
    """
    scores: dict[Place, Reached] = {}
    if not matches:
        return scores
    counts = np.array([match.counts for match in matches], dtype=np.float64)
    holding = (counts > 0).sum(axis=0)
    idf = np.log1p((number - holding + 0.5) / (holding + 0.5))
    for thread_id, rows in _by_thread(matches).items():
        seqs = np.array([matches[row].seq for row in rows])
        times = np.array([matches[row].created_at.timestamp() for row in rows])
        places, frequencies, moments = _spread(seqs, times, counts[rows])
        saturated = frequencies * (SATURATION + 1) / (frequencies + SATURATION)
        for seq, score, moment in zip(places.tolist(), (saturated @ idf).tolist(), moments.tolist(), strict=True):
            scores[thread_id, seq] = Reached(score, moment)
    return scores


def combined(lexical: float, cosine: float, *, asks: bool, is_reply: bool, speaker_is_named: bool) -> float:
    """The score of one message.

    Args:
        lexical: its score of the keyword arm; 0 where that did not find it.
        cosine: its cosine similarity in [-1, 1]; the least that the vector arm found, where that did not find it.
        asks: it ends in a question mark: a question seldom holds the answer.
        is_reply: an assistant said it, and not a person with a name.
        speaker_is_named: the question names who said it.
    """
    return lexical + COSINE_WEIGHT * cosine - ASKS * asks - REPLY * is_reply + NAMED_SPEAKER * speaker_is_named


def _by_thread(matches: Sequence[Match]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, match in enumerate(matches):
        rows.setdefault(match.thread_id, []).append(row)
    return rows


def _spread(
    seqs: NDArray[np.int64], times: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Term frequencies with neighbours: for each place within reach of a match, the weighted sum of counts.

    A match reaches beyond the next match only if that one is of the same sitting. The third array is when the match
    nearest to each place was said.
    """
    order = np.argsort(seqs)
    seqs, times, counts = seqs[order], times[order], counts[order]
    offsets = np.arange(-REACH, REACH + 1)
    targets = (seqs[:, None] + offsets[None, :]).ravel()
    weights = np.tile(1.0 / (1.0 + np.abs(offsets)), len(seqs))
    sources = np.repeat(np.arange(len(seqs)), len(offsets))
    # The sitting of a place without a match is unknown; the nearest match stands for it.
    nearest = np.clip(np.searchsorted(seqs, targets), 0, len(seqs) - 1)
    before = np.clip(nearest - 1, 0, len(seqs) - 1)
    closer = np.abs(seqs[before] - targets) < np.abs(seqs[nearest] - targets)
    nearest = np.where(closer, before, nearest)
    same = np.abs(times[nearest] - times[sources]) <= ONE_SITTING.total_seconds()
    kept = same & (targets >= 1)
    places, index = np.unique(targets[kept], return_inverse=True)
    frequencies = np.zeros((len(places), counts.shape[1]))
    np.add.at(frequencies, index, counts[sources[kept]] * weights[kept][:, None])
    moments = np.zeros(len(places))
    moments[index] = times[nearest[kept]]
    return places, frequencies, moments


def same_sitting(said_at: datetime, matched_at: float) -> bool:
    """Whether a message was said in the sitting of the match that reached it (seconds since 1970)."""
    return abs(said_at.timestamp() - matched_at) <= ONE_SITTING.total_seconds()
