"""Fusion of the two arms: one score for each message, from words, meaning, neighbours, dates and speakers.

The score is in units of inverse document frequency: a term that is in few of the user's messages counts much. A term
counts for the messages around the one that holds it, too, less with each word between them, because an answer often
does not repeat the words of its question. Meaning is added as the cosine times a weight, so that a very similar
message is worth about as much as two rare words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..text.bm25 import idf, saturated
from ..text.dates import Period
from .neighbours import REACH, with_neighbours
from .timeline import Timeline

VECTOR_REACH: Final = 2
"""Messages up to this far away share their meaning, at half the distance in terms."""

ALIKE: Final = 0.3
"""How much the cosines of neighbours go together: a correlation."""

COSINE_WEIGHT: Final = 15.0
COSINE_OF_WHOLE: Final = 25.0
"""The same where a whole is asked for: its words tell the kind of answer more than the subject. By trial on BEAM."""

NAMED_SPEAKER: Final = 4.0
NAMED_DAY: Final = 4.0
IN_BOUNDS: Final = 4.0
"""What is added to a message of the time within which a question looks ("in May"), if told up to some days later."""

TIME_ASKED_FOR: Final = 2.0
ASKS: Final = 1.0
FILLER: Final = 10.0
"""What is taken off a message without words: what there is of neighbours in its score tells of them, not of it."""

FEW: Final = 4.0
"""With each this many terms more, `FILLER` is less by the factor e."""

REPLY: Final = 2.5
"""What is taken off an assistant's reply, times the logarithm of its length: what people ask for later is mostly what
they said themselves, and long replies, which hold many words, would crowd it out. The reply comes along by pairing.
Who asks for a whole in short asks for what was worked out in replies as well: nothing is taken off then."""

ECHO: Final = 10.0
"""What is taken off a message where an order of events is asked for, times its cosine with what was said before it:
what opens a subject has little of that, and an answer to a reply has much."""

APART: Final = 2.0
"""What each better one of the same sitting takes off it then. Both by trial on BEAM."""

_SPREAD: Final = 60
"""Messages that take something off others, the best."""

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]


class Lexical(NamedTuple):
    """What the words of a question find: arrays of one value, or one column, a position.

    Attributes:
        scores: BM25 with soft neighbours, in units of idf; 0 where no term of the question reaches.
        met: how much of each word of the question, in rows, is said there and around it, weighed by idf: of all 1.
    """

    scores: Numbers
    met: NDArray[np.float32]


def lexical(timeline: Timeline, counts: Numbers, words: Sequence[int]) -> Lexical:
    """What the words of a question find.

    Args:
        timeline: all of the user's messages.
        counts: how often each term of the question, in rows, is in each of them; less than once where a related one is.
        words: the number of the word that each term is of, ascending: of stems in several languages the best counts.
    """
    number = len(timeline.seqs)
    if not counts.any():
        return Lexical(np.zeros(number), np.full((1, number), float(not len(counts)), np.float32))
    holding = np.maximum((counts >= 1).sum(axis=1), np.minimum(counts, 1).sum(axis=1))
    rarity = idf(number, holding).astype(np.float32)
    frequencies = with_neighbours(counts.astype(np.float32), timeline.weights)
    worth = saturated(frequencies, timeline.around, float(timeline.around.mean()))
    first = np.flatnonzero(np.diff(words, prepend=-1))
    scores = np.maximum.reduceat(rarity[:, None] * worth, first).sum(axis=0)
    known = np.minimum(rarity, idf(number, np.ones(1)).astype(np.float32))  # what nobody said tells no more than that
    weights = np.minimum.reduceat(known, first)
    met = np.maximum.reduceat(np.minimum(frequencies, 1), first)
    return Lexical(scores.astype(np.float64), met * (weights / weights.sum())[:, None])


def shared_cosines(timeline: Timeline, cosines: Numbers, at: Indices) -> Numbers:
    """Cosines with soft neighbours: what is said around a message tells what it is about, too.

    A sum weighted by distance, over the deviation that it would have if neighbours were alike as much as they mostly
    are (`ALIKE`): so one message far above its neighbours and several a little above the others may win.

    Args:
        timeline: all of the user's messages.
        cosines: one a position, in [-1, 1].
        at: the positions whose shared cosines are asked for.
    """
    lent = timeline.weights[at, REACH - VECTOR_REACH : REACH + VECTOR_REACH + 1]
    weights = lent / (2 - lent)  # of half the distance
    total = with_neighbours(cosines.astype(np.float32), weights, at)
    squares = np.einsum("nw,nw->n", weights, weights)
    shared: Numbers = (total / np.sqrt(squares + ALIKE * (weights.sum(axis=1) ** 2 - squares))).astype(np.float64)
    return shared


def day_scores(timeline: Timeline, named: Sequence[Period]) -> Numbers:
    """`NAMED_DAY` for each position that was said in a period that the question names, else 0."""
    scores: Numbers = NAMED_DAY * within(timeline, named).astype(np.float64)
    return scores


def within(timeline: Timeline, named: Sequence[Period]) -> Flags:
    """Which positions were said in one of these periods."""
    said = np.zeros(len(timeline.times), dtype=bool)
    for period in named:
        said |= (timeline.times >= period.start.timestamp()) & (timeline.times <= period.end.timestamp())
    return said


def combined(
    by_words: Numbers,
    cosine: Numbers,
    *,
    lengths: Numbers,
    asks: Flags,
    is_reply: Flags,
    speaker_is_named: Flags,
    tells_time_asked_for: Flags,
    of_whole: bool = False,
) -> Numbers:
    """The scores of messages: arrays of one length.

    Args:
        by_words: of the keyword arm; 0 where that did not find it.
        cosine: shared with its neighbours.
        lengths: in terms.
        asks: whether it ends in a question mark: a question seldom holds the answer.
        is_reply: whether an assistant said it, and not a person with a name.
        speaker_is_named: whether the question names who said it.
        tells_time_asked_for: whether the question asks when, and it names a day, a month or a year.
        of_whole: whether the question asks for a whole in short.
    """
    scores: Numbers = by_words + meaning_weight(of_whole=of_whole) * cosine
    reply = 0.0 if of_whole else REPLY
    scores -= FILLER * np.exp(-lengths / FEW) + ASKS * asks + reply * np.log1p(lengths) * is_reply
    scores += NAMED_SPEAKER * speaker_is_named + TIME_ASKED_FOR * tells_time_asked_for
    return scores


def meaning_weight(*, of_whole: bool) -> float:
    """What a cosine counts beside the words, in messages and in summaries."""
    return COSINE_OF_WHOLE if of_whole else COSINE_WEIGHT


def spread(scores: Numbers, sittings: Indices, echoes: Numbers) -> Numbers:
    """The same scores for other messages, so that the first mention of each event comes first, over the span.

    Arrays of one length.

    Args:
        scores: of messages.
        sittings: in which each of them was said.
        echoes: the cosine of each with what was said before it.
    """
    left = scores - ECHO * echoes
    lowered = left.copy()
    for _ in range(min(len(scores), _SPREAD)):
        best = int(left.argmax())
        lowered[best] = left[best]
        left[sittings == sittings[best]] -= APART
        left[best] = -np.inf
    waiting = np.isfinite(left)
    lowered[waiting] = left[waiting]
    given = np.empty_like(scores)
    given[np.argsort(lowered)] = np.sort(scores)
    return given
