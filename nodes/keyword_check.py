"""The node `keyword_check`: whether the newest user message shows by its words that it needs the web.

Seed `000`, strategy 1, "Keyword-Based Trigger".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

from ..facts.forgetting import asked_in
from ..runtime.requests import requests_feared
from ..runtime.router_call import begin
from ..runtime.spoken import without_requests
from ..runtime.turn import Turn
from ..search.router.keywords import KeywordReading, read_question
from ..search.router.standalone import standalone_query
from ..settings.settings import Settings
from ..state.messages import earlier_questions, newest_question
from ..state.search_records import SearchOutcome
from ..state.update import Update

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

DecidedBy = Literal["keywords", "slm", "setting", "user"]

_log = logging.getLogger(__name__)

_SURELY_NOT: Final = -0.75
"""Below this score the words decide against a search; above it the local router, which costs next to nothing, knows
better. A call of a small model costs, so that with one every score below 0 decides."""


async def keyword_check(state: ConversationState, turn: Turn) -> Update:
    """Decide by settings and words whether this turn searches the web. Never raises."""
    outcome = await read_words(state, turn.settings, lambda: requests_feared(state, turn))
    if outcome.needed is None:
        begin({**state, "search": outcome}, turn)
    return {"search": outcome}


async def read_words(
    state: ConversationState, settings: Settings, requests: Callable[[], Awaitable[Sequence[object]]] | None = None
) -> SearchOutcome:
    """Whether to search the web, as far as settings and words decide; `needed` is None where they do not.

    The setting "off" wins over everything, then the user's words against or for a search, then the setting
    "always", then the summed weight of signs against `settings.keyword_threshold`. Never raises.

    Args:
        state: with the message.
        settings: of the run.
        requests: finds the requests to forget in the message; by default those that are some by their words.
    """
    if settings.web_search == "off":
        return SearchOutcome(decided_by="setting", needed=False, reason="Web search is turned off in the settings.")
    text = newest_question(state["messages"])
    if not text.strip():
        return SearchOutcome(decided_by="keywords", needed=False, reason="There is no user text to search for.")
    try:
        asked = await (asyncio.to_thread(asked_in, text) if requests is None else requests())
        if asked:  # what is to be forgotten is told to no search engine
            return SearchOutcome(decided_by="user", needed=False, reason="The user asks to forget something.")
        # The first reading loads the word lists from disk.
        reading = await asyncio.to_thread(read_question, text, datetime.now(UTC).year)
    except Exception as error:
        _log.exception("The word lists cannot be applied.")
        reason = f"The word lists cannot be applied ({type(error).__name__})."
        return SearchOutcome(decided_by="keywords", needed=None, reason=reason)
    outcome = _decide(reading, settings)
    if not outcome.needed:
        return outcome
    before = earlier_questions(await asyncio.to_thread(without_requests, state))
    query = await asyncio.to_thread(standalone_query, text, before)
    return outcome.model_copy(update={"query": query or None})


def _decide(reading: KeywordReading, settings: Settings) -> SearchOutcome:
    """What the reading means, without a query; the first rule that applies decides."""
    threshold = settings.keyword_threshold
    for_it = _listed(sign.found for sign in reading.signs if sign.weight > 0)
    against = _listed(sign.found for sign in reading.signs if sign.weight < 0)
    decided_by: DecidedBy = "keywords"
    needed: bool | None
    if reading.opt_out:
        decided_by, needed, reason = "user", False, f"The user does not want a search ({reading.opt_out!r})."
    elif reading.explicit:
        decided_by, needed, reason = "user", True, f"The user asks for a search ({reading.explicit!r})."
    elif settings.web_search == "always":
        decided_by, needed, reason = "setting", True, "The settings ask for a web search on every turn."
    elif reading.trivial or reading.bare:
        needed, reason = False, "The message is a greeting, thanks, or too short to search for."
    elif reading.score >= threshold:
        needed, reason = (
            True,
            f"The message shows signs of needing the web ({for_it or 'the threshold is 0'}).",
        )
    elif reading.score < (0 if settings.slm_model else _SURELY_NOT):
        needed, reason = False, f"The message is about the conversation or brings all it needs ({against})."
    else:
        needed, reason = None, f"The words do not decide: score {reading.score:g}, threshold {threshold:g}."
    return SearchOutcome(
        decided_by=decided_by,
        needed=needed,
        reason=reason,
        score=reading.score,
        signs=reading.signs,
    )


def _listed(words: Iterable[str]) -> str:
    return ", ".join(repr(word) for word in words)
