"""Memory retrieval: what was said earlier that bears on the question (seed `000`, strategy 2).

A vector arm and a keyword arm run side by side; `memory.recall` tells how they become one ranking.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from langgraph.types import Overwrite

from ..runtime.chain_texts import with_chain
from ..runtime.events import tell
from ..runtime.facts import known_facts
from ..runtime.seen import seen_ids
from ..runtime.turn import Turn
from ..state.conversation import ConversationState, Update
from ..state.errors import StorageError, ThreadOwnershipError
from ..state.fact_records import FactSheet
from ..state.messages import newest_question
from ..state.records import Recall

logger = logging.getLogger(__name__)

_HITS_A_MEMORY: Final = 3
"""Hits fetched for each memory wanted: two hits in one exchange make one memory."""


async def memory_retrieval(state: ConversationState, turn: Turn) -> Update:
    """Find the user's messages and summaries that bear on the question, and what is known about the user.

    Without the embedding model the keyword arm goes on alone, without the database nothing is recalled; either is
    told in `recall.error`, and also where vectors of another model are left.

    Raises:
        ThreadOwnershipError: the thread belongs to another user.
    """
    question = newest_question(state["messages"])
    update: Update = {}
    tell("remembering")
    try:
        if not turn.resources.is_claimed(turn.user_id, turn.thread_id):
            await turn.resources.archive.own_thread(turn.user_id, turn.thread_id)
        state, update = await with_chain(state, turn)
        facts, recall = await asyncio.gather(known_facts(state, turn), _recall(state, turn, question))
    except ThreadOwnershipError:
        raise
    except StorageError as error:
        facts, recall = FactSheet(error=str(error)), Recall(error=str(error))
    if recall.error:
        logger.warning("Memory was not fully searched: %s", recall.error)
    if "messages" in update:
        # Overwrite, because what was said long ago would show up in the stream of messages.
        update["messages"] = Overwrite(update["messages"])
    return {**update, "recall": recall, "facts": facts}


async def _recall(state: ConversationState, turn: Turn, question: str) -> Recall:
    if not question or not turn.settings.max_memories:
        return Recall()
    try:
        return await _search(state, turn, question)
    except StorageError as error:
        return Recall(error=str(error))


async def _search(state: ConversationState, turn: Turn, question: str) -> Recall:
    resources, settings = turn.resources, turn.settings
    live_ids = await seen_ids(state, turn)
    if not resources.embedder.ready:
        resources.embedder.load()
        if not await resources.archive.has_more_than(turn.user_id, turn.thread_id, live_ids):
            return Recall()
    recall = await resources.search.find(
        turn.user_id,
        turn.thread_id,
        question,
        limit=settings.max_memories * _HITS_A_MEMORY,
        threshold=settings.similarity_threshold,
        live_ids=live_ids,
        this_thread_only=settings.memory_scope == "thread",
        timeout=settings.timeouts.embedding,
    )
    if recall.error is None:
        notice = await resources.vectors.notice(turn.user_id, timeout=settings.timeouts.embedding)
        recall = recall.model_copy(update={"error": notice})
    return recall
