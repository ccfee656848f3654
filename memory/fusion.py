"""Fusion of the two arms: one score for each message, from words, meaning, neighbours, dates and speakers.

The score is in units of inverse document frequency: a term that is in few of the user's messages counts much. A term
counts for the messages around the one that holds it, too, less with each word between them, because an answer often
does not repeat the words of its question. Meaning is added as the cosine times a weight, so that a very similar
message is worth about as much as two rare words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .dates import Period
from .places import Places

SATURATION: Final = 1.2
"""BM25's k1: how fast a term's repetition stops to count."""

LENGTH: Final = 0.5
"""BM25's b: how much a term in much text counts less than one in little."""

REACH: Final = 8
"""Messages up to this far away count as neighbours."""

NEAR: Final = 20.0
"""Terms of distance at which a neighbour's term counts half."""

VECTOR_REACH: Final = 2
"""Messages up to this far away share their meaning, at half the distance in terms."""

ALIKE: Final = 0.3
"""How much the cosines of neighbours go together: a correlation."""

ONE_SITTING: Final = timedelta(hours=36)
"""A longer silence parts two sittings, and there are no neighbours across it: talk that goes on the next day does."""

COSINE_WEIGHT: Final = 15.0
NAMED_SPEAKER: Final = 4.0
NAMED_DAY: Final = 4.0
TIME_ASKED_FOR: Final = 2.0
ASKS: Final = 1.0
FILLER: Final = 10.0
"""What is taken off a message without words: what there is of neighbours in its score tells of them, not of it."""

FEW: Final = 4.0
"""With each so many terms more, `FILLER` is less by the factor e."""

REPLY: Final = 2.5
"""What is taken off an assistant's reply, times the logarithm of its length: what people ask for later is mostly what
they said themselves, and long replies, which hold many words, would crowd it out. The reply comes along by pairing."""

_DENSE: Final = 8
"""A term that more than one message in so many holds is added for all of them at once."""

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


def lexical_scores(places: Places, counts: Numbers) -> Numbers:
    """BM25 with soft neighbours: a score in units of idf for each place, 0 where no term of the question reaches.

    Args:
        places: all of the user's messages.
        counts: how often each term of the question, in rows, is in each of them.
    """
    number = len(places.seqs)
    if not counts.any():
        return np.zeros(number)
    holding = (counts > 0).sum(axis=1)
    idf = np.log1p((number - holding + 0.5) / (holding + 0.5))
    held = [np.flatnonzero(row) for row in counts]
    lengths, frequencies = np.zeros(number), np.zeros(counts.shape)
    for source, target, weight in _neighbours(places, REACH, NEAR):
        lengths[target] += weight * places.lengths[source]
        shift = target.start - source.start
        for term, at in enumerate(held):
            if _DENSE * len(at) > number:
                frequencies[term, target] += weight * counts[term, source]
            else:
                inside = at[(at >= source.start) & (at < source.stop)]
                frequencies[term, inside + shift] += weight[inside - source.start] * counts[term, inside]
    mean = max(float(lengths.mean()), 1e-9)
    norm = SATURATION * (1 - LENGTH + LENGTH * lengths / mean)
    scores: Numbers = idf @ (frequencies * (SATURATION + 1) / (frequencies + norm))
    return scores


def shared_cosines(places: Places, cosines: Numbers) -> Numbers:
    """Cosines with soft neighbours: what is said around a message tells what it is about, too.

    A sum weighted by distance, over the deviation that it would have if neighbours were alike as much as they mostly
    are (`ALIKE`): so one message far above its neighbours and several a little above the others may win.

    Args:
        places: all of the user's messages.
        cosines: one a place, in [-1, 1].
    """
    total, weights, squares = np.zeros((3, len(cosines)))
    for source, target, weight in _neighbours(places, VECTOR_REACH, NEAR / 2):
        total[target] += weight * cosines[source]
        weights[target] += weight
        squares[target] += weight**2
    shared: Numbers = total / np.sqrt(squares + ALIKE * (weights**2 - squares))
    return shared


def day_scores(places: Places, named: Sequence[Period]) -> Numbers:
    """`NAMED_DAY` for each place that was said in a period that the question names, else 0."""
    said = np.zeros(len(places.times), dtype=bool)
    for period in named:
        said |= (places.times >= period.start.timestamp()) & (places.times <= period.end.timestamp())
    return NAMED_DAY * said


def combined(
    lexical: Numbers,
    cosine: Numbers,
    *,
    lengths: Numbers,
    asks: Flags,
    is_reply: Flags,
    speaker_is_named: Flags,
    tells_time_asked_for: Flags,
) -> Numbers:
    """The scores of messages: arrays of one length.

    Args:
        lexical: of the keyword arm; 0 where that did not find it.
        cosine: shared with its neighbours.
        lengths: in terms.
        asks: whether it ends in a question mark: a question seldom holds the answer.
        is_reply: whether an assistant said it, and not a person with a name.
        speaker_is_named: whether the question names who said it.
        tells_time_asked_for: whether the question asks when, and it names a day, a month or a year.
    """
    scores: Numbers = lexical + COSINE_WEIGHT * cosine
    scores -= FILLER * np.exp(-lengths / FEW) + ASKS * asks + REPLY * np.log1p(lengths) * is_reply
    scores += NAMED_SPEAKER * speaker_is_named + TIME_ASKED_FOR * tells_time_asked_for
    return scores


def _neighbours(places: Places, reach: int, near: float) -> Iterator[tuple[slice, slice, Numbers]]:
    """For each distance from -reach to reach: slices of sources and targets, and how much each source lends."""
    number = len(places.seqs)
    # In the order of the arrays: a new sitting begins with a new thread, or after a long silence.
    begins = np.abs(np.diff(places.times, prepend=np.inf)) > ONE_SITTING.total_seconds()
    begins[places.starts[places.starts < number]] = True
    sittings = np.cumsum(begins)
    middles = np.cumsum(places.lengths) - places.lengths / 2
    reach = min(reach, number - 1)
    for away in range(-reach, reach + 1):
        source = slice(max(0, away), number + min(0, away))
        target = slice(max(0, -away), number + min(0, -away))
        same = sittings[source] == sittings[target]
        yield source, target, same / (1 + np.abs(middles[source] - middles[target]) / near)
