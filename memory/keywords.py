"""The keyword arm: its index, and what it finds.

The index are the terms of each message, as numbers made of user and term, in the rows of the archive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..storage.sealed_columns import Sealing
from ..storage.term_keys import CALLS_TOOLS, TELLS_WHEN, message_keys, term_keys
from ..storage.user_rows import UserRows
from ..storage.values import Json, Row
from ..text.bounds import bounds
from ..text.dates import Period, asks_when, periods
from ..text.language import language_of
from ..text.related import names_in, related_terms
from ..text.terms import search_words
from .fusion import Flags, Numbers, day_scores, lexical, within
from .timeline import Timeline
from .user_memory import UserMemory, View

DEPTH: Final = 300
"""Candidates that the keyword arm brings."""

RELATED: Final = (1.25, 0.52)
"""What a related word counts, where the question's own counts 1: the first times what its cosine is above the second.

By trial on LoCoMo, LongMemEval and BEAM: 0.1 for the least related, 0.6 for what means the same.
"""

TOLD_LATER: Final = timedelta(20)
"""How long after a time what happened then is told, mostly; by trial on LoCoMo."""

_BATCH: Final = 500


async def index_pending(rows: UserRows) -> int:
    """Find the terms of a user's messages that have none yet (imported ones, say); returns how many were done.

    Raises:
        StorageError: the database fails.
    """
    pending = await rows.fetch("keywords.without_terms", limit=_BATCH)
    if pending:
        done = await asyncio.to_thread(lambda: [_with_keys(rows.user_id, row) for row in pending])
        await rows.fetch("keywords.set_terms", rows=Json(done))
    return len(pending)


def _with_keys(user_id: str, row: Row) -> dict[str, Any]:
    keys = message_keys(user_id, row, row["created_at"])
    return {"thread_id": row["thread_id"], "id": row["id"], "keys": keys}


class KeywordHits(NamedTuple):
    """What the keyword arm found: arrays of one value, or one column, a position of the view.

    Attributes:
        scores: of the positions that the question's words and days reach best; else 0.
        met: how much of each term of the question is said there and around it: of all 1.
        of_names: which positions hold each name in the question, in rows; none in German, where nouns look like them.
        tells_time_asked_for: whether the question asks for a time, and the message tells one.
        calls_tools: whether the message calls tools.
        in_bounds: whether it was said in the time within which the question looks.
        keys: the terms of the question, as many as it has.
    """

    scores: Numbers
    met: NDArray[np.float32]
    of_names: Flags
    tells_time_asked_for: Flags
    calls_tools: Flags
    in_bounds: Flags
    keys: Sequence[int]


def keyword_hits(
    memory: UserMemory, thread_only: str | None, question: str, sealing: Sealing, moment: datetime
) -> tuple[View, KeywordHits]:
    """What is searched, and what the keyword arm finds in it, where it is this moment: "yesterday" depends on it."""
    word_of = _words_of(question)
    terms = list(word_of)
    related = related_terms(question, terms)

    def keys(of: Iterable[str]) -> Sequence[int]:
        return sealing.terms(term_keys(sealing.user_id, list(of)))

    of_terms, of_related = keys(terms), [keys(words) for words in related]
    names = frozenset[str]() if language_of(question) == "de" else names_in(question)
    asked_for, of_calls = keys([TELLS_WHEN] if asks_when(question) else []), keys([CALLS_TOOLS])
    with memory.lock:
        view = memory.view(thread_only)
        counts = memory.counts(view, of_terms)
        for row, words, numbers in zip(counts, related, of_related, strict=True):
            if not words:
                continue
            worth = RELATED[0] * (np.array([*words.values()]) - RELATED[1])
            held = memory.counts(view, numbers) > 0
            np.maximum(row, (held * worth[:, None]).max(axis=0, initial=0), out=row)
        telling: Flags = memory.counts(view, asked_for).sum(axis=0) > 0
        calling: Flags = memory.counts(view, of_calls)[0] > 0
    of_names: Flags = counts[[term in names for term in terms]] >= 1
    found = lexical(view.timeline, counts, [*word_of.values()])
    scores = _by_words(question, view.timeline, found.scores, moment)
    in_bounds = within(view.timeline, _bounds(question, view.timeline, moment))
    return view, KeywordHits(scores, found.met, of_names, telling, calling, in_bounds, of_terms)


def _words_of(question: str) -> dict[str, int]:
    """The terms of a question, each with the number of the word that it is a stem of."""
    word_of: dict[str, int] = {}
    for number, stems in enumerate(search_words(question)):
        for stem in stems:
            word_of.setdefault(stem, number)
    return word_of


def _by_words(question: str, timeline: Timeline, by_terms: Numbers, moment: datetime) -> Numbers:
    """The scores of the keyword arm for the positions that the question's words and days reach best; else 0."""
    named = [period for period in periods(question, moment) if period.end < moment]
    scores = by_terms + day_scores(timeline, named)
    if len(scores) > DEPTH:
        scores[scores < np.partition(scores, -DEPTH)[-DEPTH]] = 0
    return scores


def _bounds(question: str, timeline: Timeline, moment: datetime) -> list[Period]:
    """The times within which a question looks: "in May" is the last one before the newest message.

    What happened is told some days later, too.
    """
    if not len(timeline.times):
        return []
    newest = datetime.fromtimestamp(float(timeline.times.max()), moment.tzinfo)
    return [Period(start, end + TOLD_LATER) for start, end in bounds(question, min(moment, newest))]
