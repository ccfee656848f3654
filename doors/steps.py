"""The steps of a turn one by one, as doors other than the graph take them: find, assemble, keep."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import cast

from langchain_core.messages import AnyMessage, HumanMessage

from ..graph.build import no_summary_due
from ..graph.prepared import with_update
from ..graph.recognition import new_by_content
from ..models.cache_marks import with_cache_marks
from ..nodes.memory_retrieval import HITS_A_MEMORY, memory_retrieval
from ..nodes.pairing import pairing
from ..nodes.remember import remember
from ..nodes.summarize import summarize
from ..runtime.prompt import Asked, assembled
from ..runtime.turn import Turn
from ..state.conversation import ConversationState
from ..state.errors import StorageError
from ..state.messages import check_input
from ..state.records import Recall
from ..state.tool_calls import results_after_calls


async def recalled(query: str, turn: Turn) -> Recall:
    """What bears on a query, as memories, where no conversation goes on.

    Raises:
        StorageError: the storage fails.
    """
    settings = turn.settings
    recall = await turn.user.search.find(
        turn.thread_id,
        query,
        limit=settings.max_memories * HITS_A_MEMORY,
        threshold=settings.similarity_threshold,
        this_thread_only=settings.memory_scope == "thread",
        timeout=settings.timeouts.embedding,
    )
    state: ConversationState = {"messages": [HumanMessage(query)], "recall": recall}
    paired = await pairing(state, turn)
    return cast("Recall", paired.get("recall", recall))


async def found_for(messages: list[AnyMessage], turn: Turn) -> ConversationState:
    """The state of a turn that answers these messages, with its chain and with what was remembered.

    Raises:
        InputError: the newest message is empty.
        StorageError: the storage fails.
        ThreadOwnershipError: the thread belongs to another user.
    """
    check_input(messages)
    state: ConversationState = {"messages": messages}
    for node in (memory_retrieval, pairing):
        state = with_update(state, await node(state, turn))
    return state


async def prompt_of(state: ConversationState, turn: Turn, asked: Asked, budget: int | None = None) -> list[AnyMessage]:
    """The messages for a model, each tool call with its results.

    Raises:
        SettingsError: the definitions of the tools take most of the budget.
    """
    update = await assembled(state, turn, budget=budget, asked=asked)
    messages = results_after_calls(cast("Sequence[AnyMessage]", update["context"].messages))
    return with_cache_marks(messages, asked.model)


async def unknown(messages: Sequence[AnyMessage], turn: Turn) -> list[AnyMessage]:
    """Those of the messages that the thread does not have yet, each with an id.

    Raises:
        StorageError: the storage fails.
    """
    new = list(messages)
    if not all(message.id for message in new):
        page = await turn.user.archive.page(turn.thread_id, limit=len(new))
        new = new_by_content(new, [cast("AnyMessage", row.message) for row in page], [])
    return [message if message.id else message.model_copy(update={"id": str(uuid.uuid4())}) for message in new]


async def kept(messages: list[AnyMessage], turn: Turn) -> int:
    """Archive messages and make the summaries that are due; returns how many messages were new.

    Raises:
        ModelError: the summary model fails, and the settings want no fallback; the messages are kept.
        StorageError: the storage fails.
    """
    if not messages:
        return 0
    state: ConversationState = {"messages": messages}
    state = with_update(state, await remember(state, turn))
    if state["after_reply"].error is not None:
        raise StorageError(state["after_reply"].error)
    while not no_summary_due(state, turn):
        state = with_update(state, await summarize(state, turn))
    return state["after_reply"].archived
