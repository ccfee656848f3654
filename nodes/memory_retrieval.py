"""Memory retrieval: what was said earlier that bears on the question (seed `000`, strategy 2).

A vector arm and a keyword arm run side by side; `memory.recall` tells how they become one ranking.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from ..runtime.chain_texts import with_chain
from ..runtime.chat_forgetting import forget_asked
from ..runtime.events import tell
from ..runtime.facts import known_facts
from ..runtime.memories import HITS_A_MEMORY
from ..runtime.relevance import least_told
from ..runtime.said import with_said, within_reach
from ..runtime.turn import Turn
from ..settings.settings import Settings
from ..state.chain import ChainView
from ..state.errors import StorageError, ThreadOwnershipError
from ..state.fact_records import FactSheet
from ..state.messages import message_text, newest_question
from ..state.records import Hit, Recall
from ..state.update import Update, Whole

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

logger = logging.getLogger(__name__)


async def memory_retrieval(state: ConversationState, turn: Turn) -> Update:
    """Find the user's messages and summaries that bear on the question, and what is known about the user.

    Without the embedding model the keyword arm goes on alone, without the database nothing is recalled; either is
    reported in `recall.error`, and also where vectors of another model are left.

    Raises:
        ThreadOwnershipError: the thread belongs to another user.
    """
    question = newest_question(state["messages"])
    update, forgotten = Update(), None
    tell("away" if turn.is_away else "remembering")
    try:
        if not turn.is_claimed:
            archive = turn.user.archive
            await (archive.refuse_foreign if turn.only_looks else archive.own_thread)(turn.thread_id)
        state, update = await with_chain(state, turn)
        if not turn.only_looks:
            state, gone, forgotten = await forget_asked(state, turn)
            state, laid = await turn.resources.later.resumed(state, turn)
            update |= gone | laid
        state, said = await with_said(state, turn)
        update |= said
        facts, recall = await asyncio.gather(known_facts(state, turn), _recall(state, turn, question))
    except ThreadOwnershipError:
        raise
    except StorageError as error:
        facts, recall, update = FactSheet(error=str(error)), Recall(error=str(error)), {**turn.held(), **update}
    facts = facts.model_copy(update={"forgotten": forgotten})
    if recall.error:
        logger.warning("Memory was not fully searched: %s", recall.error)
    if "messages" in update:
        # Whole, because what was said long ago would show up in the stream of messages.
        update["messages"] = Whole(update["messages"])
    return {**update, "recall": recall, "facts": facts}


async def _recall(state: ConversationState, turn: Turn, question: str) -> Recall:
    if not question or not turn.settings.max_memories:
        return Recall()
    try:
        return await _search(state, turn, question)
    except StorageError as error:
        return Recall(error=str(error))


async def _search(state: ConversationState, turn: Turn, question: str) -> Recall:
    """What the search found: as many hits as are wanted beside what the prompt may show, and those ranked among them.

    What may be shown may be found, too: which of it the prompt shows, assembly decides.
    """
    resources, settings, shown = turn.resources, turn.settings, within_reach(state, turn)
    if not resources.embedder.ready:
        resources.embedder.load()
        if not await turn.user.archive.has_more_than(turn.thread_id, _surely_shown(turn.live(state).view, settings)):
            return Recall()
    wanted = settings.max_memories * HITS_A_MEMORY
    recall = await turn.user.search.find(
        turn.thread_id,
        question,
        limit=wanted + len(shown),
        threshold=settings.similarity_threshold,
        least=least_told,
        this_thread_only=settings.memory_scope == "thread",
        in_part=True,
        timeout=settings.timeouts.embedding,
    )
    hits = tuple(_up_to(wanted, recall.hits, {(turn.thread_id, id_) for id_ in shown}))
    notice = await turn.user.vectors.notice(timeout=settings.timeouts.embedding) if recall.error is None else None
    return recall.model_copy(update={"hits": hits, "error": recall.error or notice})


def _up_to(count: int, hits: Iterable[Hit], chain: Collection[tuple[str, str]]) -> Iterator[Hit]:
    """The hits before the one that would be outside the chain and too many."""
    for hit in hits:
        count -= (hit.thread_id, hit.source_id) not in chain
        if count < 0:
            return
        yield hit


def _surely_shown(chain: ChainView, settings: Settings) -> list[str]:
    """Ids of a chain that is so short that any prompt shows it whole; of another none."""
    is_short = sum(len(message_text(message)) for message in chain) <= settings.max_context_tokens
    return [str(message.id) for message in chain] if is_short else []
