"""The node `pairing`: a found message brings its counterpart, a summary some of its sources; see `memory.pairing`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from ..memory.pairing import (
    SUMMARY_SHARE,
    Source,
    bearing_on,
    candidates,
    fragment_tokens,
    paired,
    told,
    with_fragments,
)
from ..runtime.said import within_reach
from ..runtime.turn import Turn
from ..state.errors import EmbeddingError, StorageError
from ..state.messages import newest_question
from ..state.records import Memory, Recall
from ..state.update import Update
from ..text.tokens import estimate_tokens, is_longer

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)

_SOURCES: Final = 200
"""Messages under a summary that are looked at: what a summary of a whole life holds can be found by itself."""


async def pairing(state: ConversationState, turn: Turn) -> Update:
    """Make memories of the hits, the most similar first; two hits in one exchange make one memory.

    There are as many as are wanted beside those that stand in the chain: which of them are shown, assembly decides.
    """
    recall = state.get("recall", Recall())
    hits = [hit for hit in recall.hits if hit.relevance >= recall.least]
    if not hits:
        return {}
    question = newest_question(state["messages"])
    chain = {(turn.thread_id, id_) for id_ in within_reach(state, turn)}
    try:
        exchanges = await turn.user.archive.exchanges(hits)
        memories = candidates(paired(hits, exchanges), chain, turn.settings.max_memories)
        if recall.least:  # else all is wanted, as many as were asked for
            memories = told(memories, hits, chain)
        memories = await _with_sources(memories, question, chain, turn)
        memories = await _with_passages(memories, question, turn)
    except StorageError as error:
        logger.warning("Memories were not paired: %s", error)
        return {"recall": recall.model_copy(update={"error": str(error)})}
    return {"recall": recall.model_copy(update={"memories": tuple(memories)})}


async def _with_sources(
    memories: Sequence[Memory], question: str, chain: Collection[Source], turn: Turn
) -> list[Memory]:
    """The memories; summaries among them, but for those in the chain, bring messages that bear on the question."""
    left = int(turn.settings.memory_tokens * SUMMARY_SHARE)
    there = {(memory.thread_id, id_) for memory in memories for id_ in memory.source_ids}.union(chain)
    expanded = []
    for memory in memories:
        fragments = memory.fragments
        is_new = (memory.thread_id, memory.source_ids[0]) not in chain
        if memory.source_type == "summary" and is_new and left > 0:
            below = await turn.user.archive.newest_sources(memory.thread_id, memory.source_ids[0], limit=_SOURCES)
            raw = [message for message in below if (memory.thread_id, message.id) not in there]
            chosen = await asyncio.to_thread(bearing_on, raw, question, left)
            left -= sum(estimate_tokens(fragment.content) for fragment in chosen)
            there |= {(memory.thread_id, fragment.id) for fragment in chosen}
            fragments = (*fragments, *chosen)
        expanded.append(memory if fragments is memory.fragments else with_fragments(memory, fragments))
    return expanded


async def _with_passages(memories: list[Memory], question: str, turn: Turn) -> list[Memory]:
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
        found = await turn.user.vectors.passages(question, long, timeout=timeout)
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
