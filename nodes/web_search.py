"""The node `web_search`: searches the web for the query that the nodes before it decided on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from ..facts.sheet import asked_by
from ..runtime.events import tell
from ..runtime.turn import Turn
from ..search.turn_search import READ_CHARS, search_for
from ..state.errors import StorageError
from ..state.messages import newest_question
from ..state.update import Update
from ..storage.search_cache import SearchCache

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

_FACTS: Final = 50
"""Facts that are looked for in a query: this many by their weight, and this many that share a word with it."""


async def web_search(state: ConversationState, turn: Turn) -> Update:
    """Search the web. A failure leaves the turn without results, and `search.error` says so."""
    outcome = state["search"]
    try:
        private = await _known(state, turn) if turn.settings.redact_queries else []
    except StorageError:
        problem = "The web was not searched: what is known about the user and must not leave cannot be read."
        return {"search": outcome.model_copy(update={"error": problem})}
    tell("searching", query=outcome.query)
    outcome = await search_for(
        state,
        turn.settings,
        turn.resources.engines,
        private=private,
        cache=SearchCache(turn.user.rows),
        importable=turn.resources.settings.search_engines,
    )
    tell("searched", engine=outcome.engine, results=len(outcome.results))
    return {"search": outcome}


async def _known(state: ConversationState, turn: Turn) -> list[str]:
    """The facts and pins of the user that the query may tell, and names among them.

    Raises:
        StorageError: the database fails.
    """
    if not turn.settings.facts:
        return []
    message = newest_question(state["messages"])[:READ_CHARS]
    asked = await asyncio.to_thread(asked_by, f"{state['search'].query or ''} {message}")
    found, pins = await turn.user.facts.sheet(
        turn.thread_id,
        asked.terms,
        live=[],
        newest=[],
        pool=_FACTS,
        most=2 * _FACTS,
        max_pins=_FACTS,
        this_thread_only=False,
    )
    facts = await asyncio.to_thread(list, found)
    names = [fact.value for fact in facts if fact.attribute == "name" and fact.value]
    return [*(fact.text for fact in facts), *(pin.text for pin in pins), *names]
