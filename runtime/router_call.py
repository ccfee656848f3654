"""The call of the small model that decides on a web search: begun early, awaited by its node."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from ..search.router.small_model import Answers, ask_model, undecided
from ..state.errors import EverthreadError
from ..state.search_records import SearchOutcome
from .spoken import without_requests
from .turn import Turn

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

_KEPT: Final = 512

_process_answers: Final = Answers(_KEPT)

_begun: Final[OrderedDict[tuple[str, str, str], asyncio.Task[SearchOutcome]]] = OrderedDict()
"""Decisions that were begun before their node ran."""


def begin(state: ConversationState, turn: Turn) -> None:
    """Ask the small model, if one is set, while memory is searched; the node waits for what is left of it.

    LangGraph runs a node only when all nodes of the step before have ended, and memory retrieval is in that step.
    """
    if turn.settings.slm_model is None:
        return
    _begun[_key(state, turn)] = asyncio.create_task(_asked(state, turn))
    while len(_begun) > _KEPT:
        _begun.popitem(last=False)[1].cancel()


async def decided(state: ConversationState, turn: Turn) -> SearchOutcome:
    """The small model's decision: that of the call that was begun, else of a new one. Never raises."""
    task = _begun.pop(_key(state, turn), None)
    if task is None or task.cancelled() or task.get_loop() is not asyncio.get_running_loop():
        return await _asked(state, turn)
    return await task


def _key(state: ConversationState, turn: Turn) -> tuple[str, str, str]:
    """What tells the turn from others."""
    run = str((turn.config.get("metadata") or {}).get("run_id") or "")
    return turn.thread_id, run, str(state["messages"][-1].id if state["messages"] else "")


async def _asked(state: ConversationState, turn: Turn) -> SearchOutcome:
    try:
        model = await turn.resources.models.router(turn.settings)
    except EverthreadError as error:
        return undecided(state, str(error))
    said = await asyncio.to_thread(without_requests, state)
    return await ask_model({**state, "messages": said}, turn.settings, model, _process_answers)
