"""Memory retrieval: what was said earlier that is similar to the question (seed `000`, strategy 2)."""

from __future__ import annotations

import logging
from typing import Final

from ..state.conversation import ConversationState, Update
from ..state.errors import EmbeddingError, StorageError, ThreadOwnershipError
from ..state.messages import live_chain, newest_question
from ..state.records import Hit, Recall
from .turn import Turn

logger = logging.getLogger(__name__)

_HITS_A_MEMORY: Final = 3
"""Hits fetched for each memory wanted: two hits in one exchange make one memory."""


async def memory_retrieval(state: ConversationState, turn: Turn) -> Update:
    """Find the user's messages and summaries most similar to the question.

    A failure of the embedding model or the database leaves the turn without memories and says so in `recall.error`.

    Raises:
        ThreadOwnershipError: the thread belongs to another user.
    """
    question = newest_question(state["messages"])
    try:
        await turn.resources.archive.own_thread(turn.user_id, turn.thread_id)
        hits = await _search(state, turn, question) if question and turn.settings.max_memories else []
    except ThreadOwnershipError:
        raise
    except (EmbeddingError, StorageError) as error:
        logger.warning("Memory was not searched: %s", error)
        return {"recall": Recall(error=str(error))}
    return {"recall": Recall(hits=tuple(hits))}


async def _search(state: ConversationState, turn: Turn, question: str) -> list[Hit]:
    """The hits; what was said a moment ago in another thread is embedded first, so that it is found."""
    resources, timeout = turn.resources, turn.settings.embedding_timeout
    live_ids = [str(message.id) for message in live_chain(state["messages"])]
    if not resources.embedder.ready:
        resources.embedder.load()
        if not await resources.archive.has_more_than(turn.user_id, turn.thread_id, live_ids):
            return []
    await resources.vectors.embed_pending(turn.user_id, timeout=timeout)
    return await resources.vectors.search(
        turn.user_id,
        turn.thread_id,
        question,
        limit=turn.settings.max_memories * _HITS_A_MEMORY,
        threshold=turn.settings.similarity_threshold,
        live_ids=live_ids,
        this_thread_only=turn.settings.memory_scope == "thread",
        timeout=timeout,
    )
