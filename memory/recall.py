"""`MemorySearch`: the vector arm and the keyword arm side by side, and one ranking of what they found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np

from ..models.similarity import similarities
from ..state.errors import EmbeddingError, StorageUnreachable
from ..state.records import Recall, now
from ..storage.user_rows import UserRows
from ..text.bm25 import idf
from ..text.scope import asks_for_all, scope_of
from ..text.sides import sides_of
from ..text.terms import search_terms
from .breadth import ALL, LEAST, Bounds, certainty, is_enough, leads, said_by_another
from .bridges import bridged
from .candidates import Candidates, with_sides
from .course import course
from .fusion import IN_BOUNDS, Numbers, combined, meaning_weight, shared_cosines, spread
from .hits import ranked, similarity_of
from .keywords import KeywordHits, index_pending, keyword_hits
from .recall_cache import Known, RecallCache
from .timeline import Timeline
from .user_memory import Indices, Near, UserMemory, View
from .vectors import Lookup, NearSource, VectorIndex, nearest_in

VECTOR_DEPTH: Final = 400
"""Candidates that the vector arm brings; the others are taken to be like the last."""


class _Found(NamedTuple):
    """What the arms found for a text; `failed` says why the vector arm did not."""

    text: str
    view: View
    words: KeywordHits
    lookup: Lookup | None
    failed: str | None


class MemorySearch:
    """Search in the memory of one user without a language model.

    Args:
        rows: the user's.
        memories: what this process holds of the users' memories.
        vectors: the user's vector arm.
    """

    def __init__(self, rows: UserRows, memories: RecallCache, vectors: VectorIndex) -> None:
        self._rows = rows
        self._memories = memories
        self._vectors = vectors

    async def find(
        self,
        thread_id: str,
        question: str,
        *,
        limit: int,
        threshold: float,
        least: Bounds | Callable[[str], Bounds] = ALL,
        this_thread_only: bool = False,
        as_of: datetime | None = None,
        in_part: bool = False,
        timeout: float,
    ) -> Recall:
        """What of the user's memory bears on the question, the best first. Where the vector arm fails, `error` says so.

        Args:
            thread_id: the thread in which the question was asked.
            question: any text.
            limit: hits, at most.
            threshold: similarity in [0, 1], as `models.similarity` has it, from which a message is recalled for its
                meaning alone.
            least: relevance below which no more than `hits.FEWEST` are returned; with less certainty none has any. Or
                what finds it for the question, and may take as long as to read word lists.
            this_thread_only: leave out the user's other threads.
            as_of: leave out what was said later, and take "yesterday" from there; None for now.
            in_part: whether of a large memory, read for the first time, the newest will do; `error` says so.
            timeout: seconds for the embedding model.

        Raises:
            StorageError: the database fails.
        """
        thread_only = thread_id if this_thread_only else None
        self._vectors.expect(question)
        (memory, *_, is_whole), error = await self._memory(timeout, in_part=in_part)
        sealing, moment = await self._rows.sealing(), as_of or now()

        async def by_meaning(text: str) -> tuple[Lookup | None, str | None]:
            if error is not None:
                return None, error
            try:
                found = await self._vectors.lookup(text, limit=VECTOR_DEPTH, thread_only=thread_only, timeout=timeout)
            except EmbeddingError as failed:
                return None, str(failed)
            return found, None

        def by_words(text: str, *, split: bool = False) -> tuple[View, KeywordHits, tuple[str, ...]]:
            sides = sides_of(text) if split else ()  # whose first call reads word lists
            return *keyword_hits(memory, thread_only, text, sealing, moment), sides

        async def found(text: str, *, split: bool = False) -> tuple[_Found, tuple[str, ...]]:
            """Side by side: the keyword arm does not wait for the embedding of the question."""
            in_words = asyncio.to_thread(by_words, text, split=split)
            (view, words, sides), (lookup, failed) = await asyncio.gather(in_words, by_meaning(text))
            return _Found(text, view, words, lookup, failed), sides

        def candidates(of: _Found) -> Candidates:
            near = of.lookup(memory, of.view) if of.lookup is not None else None
            if as_of is not None:
                near = _until(as_of, of.view, of.words, near)
            return _candidates(memory, of.view, of.words, near, of.text)

        whole, parts = await found(question, split=True)
        sides = [side for side, _ in await asyncio.gather(*map(found, parts))]

        def recall() -> Recall:
            bounds = least(question) if callable(least) else least
            is_of_all = asks_for_all(question)
            with memory.lock:
                all_of_it = course(memory, whole.view, thread_id, as_of) if is_of_all else None
                if all_of_it is not None and len(all_of_it.rows):
                    enough = all_of_it.leads
                else:  # of what people said nothing may be left but summaries
                    all_of_it = candidates(whole)
                    enough = is_enough(all_of_it.lexical, similarities(all_of_it.cosines) >= threshold)
                    if sides:
                        all_of_it = with_sides(all_of_it, [candidates(side) for side in sides])
                        enough |= all_of_it.leads
                hits = tuple(ranked(memory, all_of_it, np.flatnonzero(enough), limit, bounds))
            cosines = all_of_it.cosines[~np.isnan(all_of_it.cosines)]
            told = None if is_whole else "The newest of memory were searched: what is older is still being read."
            told = told if whole.failed is None else f"{whole.failed} Memory was searched by keywords alone."
            nearest = similarity_of(float(cosines.max())) if len(cosines) else None
            return Recall(hits=hits, least=bounds.relevance, nearest=nearest, error=told)

        return await asyncio.to_thread(recall)

    async def nearest(
        self, question: str, *, limit: int, thread_only: str | None = None, timeout: float
    ) -> list[NearSource]:
        """The messages and summaries nearest to the question, the best first: what the vector arm alone finds.

        Args:
            question: any text.
            limit: messages and summaries, at most.
            thread_only: this thread alone; None searches all.
            timeout: seconds for the embedding model.

        Raises:
            EmbeddingError: the model fails or is too slow.
            StorageError: the database fails.
        """
        found = await self._vectors.lookup(question, limit=limit, thread_only=thread_only, timeout=timeout)
        memory = (await self._memories.of(self._rows)).memory
        return await asyncio.to_thread(nearest_in, memory, found, thread_only)

    async def _memory(self, timeout: float, *, in_part: bool) -> tuple[Known, str | None]:
        """The user's memory, when what was said elsewhere has its terms and vectors; and why not, if a model fails."""
        known, error = await self._memories.of(self._rows, in_part=in_part), None
        may_lack = self._vectors.may_have_pending(without_vectors=known.without_vectors)
        if not (known.without_terms or may_lack):
            return known, None
        try:
            if known.without_terms:
                await index_pending(self._rows)
            if may_lack:
                await self._vectors.embed_pending(timeout=timeout)
        except EmbeddingError as failed:
            error = str(failed)
        except StorageUnreachable:
            pass  # a standby: what has them is searched; where nothing can be read either, reading says so
        return await self._memories.of(self._rows, in_part=in_part), error


def _until(moment: datetime, view: View, words: KeywordHits, near: Near | None) -> Near | None:
    """Take out of what both arms found what was said later."""
    late = view.timeline.times > moment.timestamp()
    words.scores[late] = 0
    if near is None:
        return None
    near.messages[view.rows[late]] = np.nan
    return Near(near.messages, [found for found in near.summaries if found[0].created_at <= moment])


def _candidates(memory: UserMemory, view: View, words: KeywordHits, near: Near | None, question: str) -> Candidates:
    """The messages and summaries that the question's words, days or meaning reach, in no order."""
    by_words, met, of_names, telling, calling, in_bounds, keys = words
    near = near or Near(np.full(len(memory), np.nan), ())
    cosines = near.messages[view.rows]
    at = np.flatnonzero(((by_words > 0) | ~np.isnan(cosines)) & ~view.messages["is_system"])
    messages, scope = view.messages[at], scope_of(question)
    is_reply = messages["is_reply"] & ~calling[at]
    is_named = np.isin(messages["speaker"], _named(memory, question))
    scores = combined(
        by_words[at],
        _shared(view.timeline, cosines, at),
        lengths=view.timeline.lengths[at],
        asks=messages["asks"],
        is_reply=is_reply,
        speaker_is_named=is_named,
        tells_time_asked_for=telling[at],
        of_whole=scope == "whole",
    )
    of_summaries = np.array([cosine for _, cosine in near.summaries])
    by_summary = meaning_weight(of_whole=scope == "whole") * of_summaries
    every_met = np.pad(met[:, at], [(0, 0), (0, len(of_summaries))])
    every_cosine = np.concatenate([cosines[at], of_summaries])
    rarest = float(idf(max(1, len(view.rows)), np.ones(1))[0])
    sure = certainty(np.concatenate([scores, by_summary]), every_met, every_cosine, rarest)
    with_name = np.isin(messages["speaker"], [number for name, number in memory.speakers.items() if name])
    if said_by_another(scores, is_named, with_name & ~of_names[:, at].any(axis=0)):
        sure = -np.inf
    scores = scores + IN_BOUNDS * in_bounds[at]
    if sure >= LEAST["one"].certainty:
        scores = bridged(memory, view, at, scores, by_people=~is_reply, asked=keys)
    if scope == "order":
        scores = spread(scores, view.timeline.sittings[at], memory.echoes(view, at))
    no_summary, no_time = np.zeros(len(of_summaries), dtype=bool), np.full(len(of_summaries), np.nan)
    return Candidates(
        view.rows[at],
        [source for source, _ in near.summaries],
        np.concatenate([scores, by_summary]),
        np.concatenate([by_words[at], np.zeros(len(of_summaries))]),
        every_cosine,
        np.concatenate([messages["asks"], no_summary]),
        np.concatenate([np.where(messages["by_people"], view.timeline.times[at], np.nan), no_time]),
        np.concatenate([leads(of_names, at, scores, ~messages["asks"], rarest), no_summary]),
        sure,
        rarest,
    )


def _named(memory: UserMemory, question: str) -> list[int]:
    """The numbers of the speakers whom the question names."""
    words = frozenset(search_terms(question, keep_stop_words=True))
    return [
        number
        for name, number in memory.speakers.items()
        if name and not words.isdisjoint(search_terms(name, keep_stop_words=True))
    ]


def _shared(timeline: Timeline, cosines: Numbers, at: Indices) -> Numbers:
    """The cosines of some positions, shared with their neighbours; one without a vector is like the last.

    Args:
        timeline: all of the user's messages.
        cosines: of all; NaN where the vector arm did not bring it.
        at: the positions that are asked for.
    """
    if np.isnan(cosines).all():
        return np.zeros(len(at))
    return shared_cosines(timeline, np.where(np.isnan(cosines), np.nanmin(cosines), cosines), at)
