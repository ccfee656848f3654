"""What was found becomes memories: paired, with sources and passages; also out of the team spaces of the user."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

from ..memory.pairing import (
    SUMMARY_SHARE,
    Source,
    bearing_on,
    candidates,
    fragment_tokens,
    paired,
    spanning,
    told,
    with_fragments,
)
from ..state.errors import EmbeddingError, RightsError
from ..state.records import Memory, Recall
from ..storage.spaces import name_of_space
from ..text.replies import is_canned
from ..text.scope import asks_for_whole
from ..text.tokens import estimate_tokens, is_longer
from .relevance import least_told
from .turn import Turn
from .user import User

HITS_A_MEMORY: Final = 3
"""Hits fetched for each memory wanted: two hits in one exchange make one memory."""

_SOURCES: Final = 200
"""Messages under a summary that are looked at: what a summary of a whole life holds can be found by itself."""


async def memories_of(
    recall: Recall, question: str, turn: Turn, user: User, chain: Collection[Source] = ()
) -> list[Memory]:
    """The memories of what a search has found, the most similar first; two hits in one exchange make one.

    There are as many as are wanted beside those that stand in the chain.

    Args:
        recall: what was found.
        question: for what.
        turn: of which settings.
        user: in whose memory.
        chain: what of it the prompt may show already.

    Raises:
        StorageError: the storage fails.
    """
    hits = [hit for hit in recall.hits if hit.relevance >= recall.least]
    if not hits:
        return []
    # What an extract says word for word is found where it was said; together it tells of a whole.
    in_short = await asyncio.to_thread(asks_for_whole, question)
    exchanges = await user.archive.exchanges(hits, extracts=in_short or not recall.least)
    memories = candidates(paired(hits, exchanges), chain, turn.settings.max_memories)
    if recall.least:  # else all is wanted, as many as were asked for
        memories = told(memories, hits, chain, in_short=in_short)
    memories = await _with_sources(memories, question, chain, turn, user, in_short=in_short)
    return await _with_passages(memories, question, turn, user)


async def memories_of_spaces(question: str, turn: Turn) -> list[Memory]:
    """What bears on a question in the team spaces that the user may read, each memory with the name of its space.

    Raises:
        StorageError: the storage fails.
    """
    found: list[Memory] = []
    settings, rows = turn.settings, await turn.user.rows.fetch("spaces.of_user")
    if not rows or not question or not settings.max_memories:
        return found
    least = await asyncio.to_thread(least_told, question)
    for owner in [row["space_id"] for row in rows]:
        user = turn.resources.of_member(owner, turn.user.id)
        try:
            recall = await user.search.find(
                "", question, limit=settings.max_memories * HITS_A_MEMORY, threshold=settings.similarity_threshold,
                least=least, timeout=settings.timeouts.embedding,
            )  # fmt: skip
            memories = await memories_of(recall, question, turn, user)
        except RightsError:  # the right was taken meanwhile
            continue
        found += [memory.model_copy(update={"space": name_of_space(owner)}) for memory in memories]
    return found


async def _with_sources(
    memories: Sequence[Memory],
    question: str,
    chain: Collection[Source],
    turn: Turn,
    user: User,
    *,
    in_short: bool,
) -> list[Memory]:
    """The memories; summaries have their days, and those outside the chain messages that bear on the question.

    Where many are told in short these messages are left out: there is no room for them.
    """
    left = 0 if in_short else int(turn.settings.memory_tokens * SUMMARY_SHARE)
    there = {(memory.thread_id, id_) for memory in memories for id_ in memory.source_ids}.union(chain)
    expanded = []
    for memory in memories:
        if memory.source_type != "summary":
            expanded.append(memory)
            continue
        below = await user.archive.newest_sources(memory.thread_id, memory.source_ids[0], limit=_SOURCES)
        dated = spanning(memory, below, all_of_it=len(below) < _SOURCES)
        is_new = (memory.thread_id, memory.source_ids[0]) not in chain
        raw = [m for m in below if (memory.thread_id, m.id) not in there and not is_canned(m.content)]
        chosen = await asyncio.to_thread(bearing_on, raw, question, left) if is_new and left > 0 else []
        left -= sum(estimate_tokens(fragment.content) for fragment in chosen)
        there |= {(memory.thread_id, fragment.id) for fragment in chosen}
        expanded.append(with_fragments(dated, (*dated.fragments, *chosen)))
    return expanded


async def _with_passages(memories: list[Memory], question: str, turn: Turn, user: User) -> list[Memory]:
    """The memories; each long message in them with the passage that is nearest to the question by meaning."""
    limit = turn.settings.memory_tokens
    long = [
        (memory.thread_id, fragment.id)
        for memory in memories
        for fragment in memory.fragments
        if is_longer(fragment.content, fragment_tokens(memory, fragment, limit))
    ]
    if not long:
        return memories
    try:
        timeout = turn.settings.timeouts.embedding
        found = await user.vectors.passages(question, long, timeout=timeout)
    except EmbeddingError:
        return memories
    return [
        memory.model_copy(
            update={
                "fragments": tuple(
                    fragment.model_copy(update={"passage": found.get((memory.thread_id, fragment.id), "")})
                    for fragment in memory.fragments
                )
            }
        )
        for memory in memories
    ]
