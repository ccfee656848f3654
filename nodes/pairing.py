"""Pairing: a found message brings its counterpart (seed `000`, "Context Pairing Logic").

A user's message brings the assistant's reply, a reply brings the query before it, a summary stands alone.
"""

from __future__ import annotations

import logging

from ..state.conversation import ConversationState, Update
from ..state.errors import StorageError
from ..state.messages import live_chain
from ..state.records import Fragment, Hit, Memory
from .turn import Turn

logger = logging.getLogger(__name__)


async def pairing(state: ConversationState, turn: Turn) -> Update:
    """Make memories of the hits, the most similar first; two hits in one exchange make one memory."""
    recall = state["recall"]
    if not recall.hits:
        return {}
    try:
        fragments = await turn.resources.archive.exchanges(turn.user_id, recall.hits)
    except StorageError as error:
        logger.warning("Memories were not paired: %s", error)
        return {"recall": recall.model_copy(update={"error": str(error)})}
    live = {message.id for message in live_chain(state["messages"])}
    memories = paired(recall.hits, fragments, here=turn.thread_id, live={str(id_) for id_ in live})
    return {"recall": recall.model_copy(update={"memories": tuple(memories[: turn.settings.max_memories])})}


def paired(
    hits: tuple[Hit, ...], exchanges: dict[tuple[str, str], tuple[Fragment, ...]], *, here: str, live: set[str]
) -> list[Memory]:
    """One memory for each exchange that was hit, in the order of the hits.

    Args:
        hits: what the search found, the best first.
        exchanges: by thread and source id of a hit, the fragments of its exchange in the order they were said.
        here: the thread of this turn.
        live: ids in the live chain of this thread; their fragments are left out, for the model sees them anyway.
    """
    memories: list[Memory] = []
    used: set[tuple[str, str]] = set()
    for hit in hits:
        fragments = tuple(
            fragment
            for fragment in exchanges.get((hit.thread_id, hit.source_id), ())
            if (hit.thread_id, fragment.id) not in used and not (hit.thread_id == here and fragment.id in live)
        )
        if not fragments or (hit.thread_id, hit.source_id) in used:
            continue
        used.update((hit.thread_id, fragment.id) for fragment in fragments)
        memories.append(_memory(hit, fragments))
    return memories


def _memory(hit: Hit, fragments: tuple[Fragment, ...]) -> Memory:
    said = [fragment.created_at for fragment in fragments if fragment.created_at is not None]
    return Memory(
        fragments=fragments,
        source_type=hit.source_type,
        source_ids=tuple(fragment.id for fragment in fragments),
        thread_id=hit.thread_id,
        similarity=hit.similarity,
        score=hit.score,
        vector_rank=hit.vector_rank,
        keyword_rank=hit.keyword_rank,
        rank=hit.rank,
        created_at=min(said) if said else hit.created_at,
    )
