"""The node `web_search`: searches the web for the query that the nodes before it decided on.

Seed `000`, strategy 1, "Search Processing".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ..search.engines import SearchEngine
from ..search.run import search_web
from ..state.conversation import ConversationState, Update
from ..state.messages import newest_question
from ..state.search_records import SearchOutcome
from ..state.settings import Settings
from .turn import Turn

_log = logging.getLogger(__name__)


async def web_search(state: ConversationState, turn: Turn) -> Update:
    """Search the web. A failure leaves the turn without results, and `search.error` says so."""
    return {"search": await search_for(state, turn.settings, turn.resources.engines)}


async def search_for(
    state: ConversationState, settings: Settings, engines: Mapping[str, SearchEngine] | None = None
) -> SearchOutcome:
    """The outcome so far with the engine used and its results, or an `error` that says what failed.

    Never raises.

    Args:
        state: `search` holds the query; without one, the newest user message is it.
        settings: which engines, how many results, how long.
        engines: engines by name that stand for those everthread makes itself.
    """
    outcome = state["search"]
    try:
        query = outcome.query or newest_question(state["messages"])
        name, results, problem = await search_web(query, settings, engines)
    except Exception as error:
        _log.warning("Web search failed: %s.", type(error).__name__)
        name, results, problem = None, [], f"The web search failed ({type(error).__name__})."
    return outcome.model_copy(update={"engine": name, "results": tuple(results), "error": problem})
