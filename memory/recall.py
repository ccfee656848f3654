"""`MemorySearch`: the vector arm and the keyword arm side by side, and one ranking of what they found."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from psycopg.rows import DictRow

from ..state.errors import EmbeddingError
from ..state.records import Hit, Recall, now
from .database import Database
from .dates import periods
from .fusion import COSINE_WEIGHT, combined, day_scores, lexical_scores, shared_cosines
from .keywords import KeywordIndex, Match, Place, Places
from .terms import question_terms, terms
from .user_rows import UserRows
from .vectors import VectorIndex

DEPTH: Final = 300
"""Candidates that the keyword arm brings."""

VECTOR_DEPTH: Final = 400
"""Candidates that the vector arm brings: of so many the cosine is known, and others are taken to be like the last."""

FLOOR: Final = 1.0
"""The least score of the keyword arm, in units of idf, with which a message is recalled for its words alone."""

_CANDIDATES = """
SELECT m.thread_id, m.seq, m.id, m.role, m.name, m.created_at, right(rtrim(right(m.text, 40)), 1) AS ending
FROM unnest(%(threads)s::text[], %(seqs)s::bigint[]) AS place(thread_id, seq)
JOIN messages AS m ON m.user_id = %(user_id)s AND m.thread_id = place.thread_id AND m.seq = place.seq
WHERE m.role <> 'system'
"""


class Candidate(NamedTuple):
    """A message or summary with its score; `lexical` and `cosine` are None where the arm did not find it."""

    source_type: str
    row: Mapping[str, Any]
    score: float
    lexical: float | None
    cosine: float | None


class MemorySearch:
    """Search in a user's memory without a language model.

    Args:
        database: where the archive is.
        vectors: the vector arm.
        keywords: the keyword arm.
    """

    def __init__(self, database: Database, vectors: VectorIndex, keywords: KeywordIndex) -> None:
        self._database = database
        self._vectors = vectors
        self._keywords = keywords

    async def find(
        self,
        user_id: str,
        thread_id: str,
        question: str,
        *,
        limit: int,
        threshold: float,
        live_ids: Collection[str] = (),
        this_thread_only: bool = False,
        timeout: float,
    ) -> Recall:
        """What of the user's memory bears on the question, the best first. Where the vector arm fails, `error` says so.

        Args:
            user_id: whose memory.
            thread_id: the thread in which the question was asked.
            question: any text.
            limit: hits, at most.
            threshold: similarity as (1 + cosine) / 2 in [0, 1] from which a message is recalled for its meaning alone.
            live_ids: ids in the live chain of this thread, which are left out.
            this_thread_only: leave out the user's other threads.
            timeout: seconds for the embedding model.

        Raises:
            StorageError: the database fails.
        """
        thread_only = thread_id if this_thread_only else None
        asked = await asyncio.to_thread(question_terms, question)
        (places, matches), (near, error) = await asyncio.gather(
            self._keyword_arm(user_id, asked, thread_only),
            self._vector_arm(user_id, question, thread_only, timeout),
        )
        by_words = await asyncio.to_thread(_by_words, question, places, matches)
        rows = await self._rows(user_id, {*by_words, *_places_of(near)})
        candidates = [
            candidate
            for candidate in await asyncio.to_thread(_scored, rows, near, by_words, places, question)
            if _is_recalled(candidate, threshold)
            and not (candidate.row["thread_id"] == thread_id and candidate.row["id"] in live_ids)
        ]
        return Recall(hits=tuple(_ranked(candidates, limit)), error=error)

    async def _keyword_arm(
        self, user_id: str, asked: Sequence[str], thread_only: str | None
    ) -> tuple[Places, list[Match]]:
        await self._keywords.index_pending(user_id)
        return await asyncio.gather(
            self._keywords.places(user_id, thread_only=thread_only),
            self._keywords.matches(user_id, asked, thread_only=thread_only),
        )

    async def _vector_arm(
        self, user_id: str, question: str, thread_only: str | None, timeout: float
    ) -> tuple[list[DictRow], str | None]:
        """What is near, or nothing and why; what was said a moment ago elsewhere is embedded first."""
        try:
            await self._vectors.embed_pending(user_id, timeout=timeout)
            near = await self._vectors.nearest(
                user_id, question, limit=VECTOR_DEPTH, thread_only=thread_only, timeout=timeout
            )
        except EmbeddingError as error:
            return [], f"{error} Memory was searched by keywords alone."
        return near, None

    async def _rows(self, user_id: str, places: Collection[Place]) -> list[DictRow]:
        if not places:
            return []
        threads, seqs = zip(*places, strict=True)
        return await UserRows(self._database, user_id).fetch(_CANDIDATES, threads=list(threads), seqs=list(seqs))


def _by_words(question: str, places: Places, matches: Sequence[Match]) -> dict[Place, float]:
    """The best places of the keyword arm with their scores: those that the question's words and days reach."""
    moment = now()
    named = periods(question, moment)
    scores = lexical_scores(places, matches) + day_scores(places, [period for period in named if period.end < moment])
    best = np.argsort(-scores, kind="stable")[:DEPTH]
    return {places.at(n): float(scores[n]) for n in best.tolist() if scores[n] > 0}


def _places_of(near: Sequence[DictRow]) -> Iterator[Place]:
    return ((row["thread_id"], row["seq"]) for row in near if row["seq"] is not None)


def _scored(
    rows: Sequence[DictRow], near: Sequence[DictRow], by_words: Mapping[Place, float], places: Places, question: str
) -> list[Candidate]:
    asked = frozenset(terms(question, keep_stop_words=True))
    cosines = {(row["thread_id"], row["seq"]): row["cosine"] for row in near if row["seq"] is not None}
    at = [(row["thread_id"], row["seq"]) for row in rows]
    candidates = [_summary(row) for row in near if row["seq"] is None]
    for row, place, shared in zip(rows, at, _meanings(at, cosines, places), strict=True):
        score = combined(
            by_words.get(place, 0.0),
            shared,
            asks=row["ending"] in {"?", "\uff1f", "\u061f"},
            is_reply=row["role"] == "assistant" and not row["name"],
            speaker_is_named=bool(row["name"]) and not asked.isdisjoint(terms(row["name"], keep_stop_words=True)),
        )
        candidates.append(Candidate("message", row, score, by_words.get(place), cosines.get(place)))
    return candidates


def _meanings(at: Sequence[Place], cosines: Mapping[Place, float], places: Places) -> list[float]:
    """For each place its cosine shared with its neighbours; one that the vector arm did not bring is like the last."""
    if not cosines:
        return [0.0] * len(at)
    everywhere = np.full(len(places.seqs), min(cosines.values()))
    positions = places.positions(list(cosines))
    known = positions >= 0
    everywhere[positions[known]] = np.array(list(cosines.values()))[known]
    shared = shared_cosines(places, everywhere)
    # A message of this moment may be among the candidates and not yet among the places.
    return [
        float(shared[n]) if n >= 0 else cosines.get(place, 0.0)
        for place, n in zip(at, places.positions(at).tolist(), strict=True)
    ]


def _summary(row: DictRow) -> Candidate:
    return Candidate("summary", {**row, "id": row["source_id"]}, COSINE_WEIGHT * row["cosine"], None, row["cosine"])


def _is_recalled(candidate: Candidate, threshold: float) -> bool:
    by_words = candidate.lexical is not None and candidate.lexical >= FLOOR
    return by_words or (candidate.cosine is not None and (1 + candidate.cosine) / 2 >= threshold)


def _ranked(candidates: Sequence[Candidate], limit: int) -> list[Hit]:
    """The best candidates as hits, with their ranks in each arm and overall."""
    by_words = _ranks([(c.lexical, n) for n, c in enumerate(candidates) if c.lexical is not None])
    by_meaning = _ranks([(c.cosine, n) for n, c in enumerate(candidates) if c.cosine is not None])
    order = sorted(range(len(candidates)), key=lambda n: (-candidates[n].score, str(candidates[n].row["id"])))
    return [
        Hit(
            source_type="summary" if candidates[n].source_type == "summary" else "message",
            source_id=candidates[n].row["id"],
            thread_id=candidates[n].row["thread_id"],
            role=candidates[n].row["role"],
            similarity=_similarity(candidates[n].cosine),
            score=round(candidates[n].score, 3),
            keyword_rank=by_words.get(n),
            vector_rank=by_meaning.get(n),
            rank=rank,
            created_at=candidates[n].row["created_at"],
        )
        for rank, n in enumerate(order[:limit], start=1)
    ]


def _ranks(scored: Sequence[tuple[float, int]]) -> dict[int, int]:
    return {n: rank for rank, (_, n) in enumerate(sorted(scored, key=lambda item: -item[0]), start=1)}


def _similarity(cosine: float | None) -> float | None:
    return None if cosine is None else min(1.0, max(0.0, (1 + cosine) / 2))
