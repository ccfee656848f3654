"""The steps of a turn one by one, as doors other than the graph take them: find, assemble, keep."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage

from ..graph.recognition import new_by_content
from ..memory.pairing import with_fragments
from ..models.cache_marks import with_cache_marks
from ..nodes.memory_retrieval import memory_retrieval
from ..nodes.pairing import pairing
from ..nodes.remember import remember
from ..nodes.summarize import no_summary_due, summarize
from ..runtime.memories import HITS_A_MEMORY
from ..runtime.prompt import Asked, assembled
from ..runtime.turn import Turn
from ..state.errors import StorageError
from ..state.messages import check_input, clean_text
from ..state.records import EVERTHREAD_NAMESPACE, Memory, Recall
from ..state.tool_calls import ends_with_reply, results_after_calls
from ..state.update import Update, with_update

if TYPE_CHECKING:
    from ..state.conversation import ConversationState


async def recalled(query: str, turn: Turn, as_of: datetime | None = None) -> Recall:
    """What bears on a query, as memories, where no conversation goes on.

    Args:
        query: any text.
        turn: whose memory, and in which thread.
        as_of: leave out what was said later; None leaves out nothing.

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
        as_of=as_of,
        timeout=settings.timeouts.embedding,
    )
    state: ConversationState = {"messages": [HumanMessage(query)], "recall": recall}
    paired = await pairing(state, turn)
    found = cast("Recall", paired.get("recall", recall))
    return found if as_of is None else found.model_copy(update={"memories": tuple(_until(as_of, found.memories))})


def _until(moment: datetime, memories: Iterable[Memory]) -> Iterator[Memory]:
    """The memories without what was said after that moment: a reply may have come later than what it answers."""
    for memory in memories:
        early = [part for part in memory.fragments if part.created_at is None or part.created_at <= moment]
        if early:
            yield with_fragments(memory, early)


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


def name(messages: Sequence[AnyMessage]) -> None:
    """Give ids to messages that have none, as LangGraph does; for a state that nothing keeps, which is said anew."""
    for message in messages:
        if not message.id:
            message.id = str(uuid.uuid4())


def with_ids(messages: Sequence[AnyMessage], turn: Turn) -> list[AnyMessage]:
    """The messages, each with an id: a state that gives none (deepagents') has the same at the same place next time."""
    return [
        message if message.id else message.model_copy(update={"id": _id_at(turn.thread_id, place, message)})
        for place, message in enumerate(messages)
    ]


def _id_at(thread_id: str, place: int, message: AnyMessage) -> str:
    named = "\x1f".join((thread_id, str(place), message.type, message.text))
    return str(uuid.uuid5(EVERTHREAD_NAMESPACE, clean_text(named)))


async def sent_again(messages: list[AnyMessage], turn: Turn) -> Update | None:
    """What an agent's messages become where some of them were sent again; None where all is as it should be.

    A history that came without ids has those of the archive again; a question that was answered has its reply, and the
    agent ends.

    Raises:
        StorageError: the storage fails.
    """
    page = await turn.user.archive.page(turn.thread_id, limit=len(messages) + 1)
    whole = [cast("AnyMessage", row.message) for row in page]
    places = {message.id: at for at, message in enumerate(whole)}
    known = next((at + 1 for at in range(len(messages) - 1, -1, -1) if messages[at].id in places), 0)
    said, given = messages[:known], messages[known:]
    if said and not given:
        after = whole[places[said[-1].id] + 1 :]
        return {"messages": after, "jump_to": "end"} if ends_with_reply([*said, *after]) else None
    new = new_by_content(given, whole, ()) if len(given) > 1 else given
    if len(new) == len(given):
        return None
    stands = said or whole
    from langgraph.graph.message import REMOVE_ALL_MESSAGES

    update: Update = {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *stands, *new]}
    return update if new or not ends_with_reply(stands) else {**update, "jump_to": "end"}


async def kept(messages: list[AnyMessage], turn: Turn) -> int:
    """Archive messages and make the summaries that are due; returns how many messages were new.

    What a model writes is written in the background: see `runtime.later_summaries`.

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
