"""The node `web_search`: searches the web for the query that the nodes before it decided on.

Seed `000`, strategy 1, "Search Processing"; "Search Privacy".
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ..facts.sheet import question_terms
from ..runtime.events import tell
from ..runtime.turn import Turn
from ..search.breaker import Breakers, process_breakers
from ..search.cleaning import search_query
from ..search.engines import SearchEngine
from ..search.failover import ResultCache
from ..search.language import results_language
from ..search.pages import PageReader
from ..search.privacy import Redacted, redact
from ..search.web_search import WebAnswer, search_web
from ..settings.settings import Settings
from ..state.conversation import ConversationState, Update
from ..state.errors import StorageError
from ..state.messages import newest_question
from ..state.search_records import SearchOutcome
from ..storage.search_cache import SearchCache

_log = logging.getLogger(__name__)

_READ: Final = 1500
"""Characters of a message that are read for its query."""
_FACTS: Final = 50
"""Facts that are looked for in a query: this many by their weight, and this many that share a word with it."""


async def web_search(state: ConversationState, turn: Turn) -> Update:
    """Search the web. A failure leaves the turn without results, and `search.error` says so."""
    outcome = state["search"]
    try:
        private = await known(state, turn) if turn.settings.redact_queries else []
    except StorageError:
        problem = "The web was not searched: what is known about the user and must not leave cannot be read."
        return {"search": outcome.model_copy(update={"error": problem})}
    tell("searching", query=outcome.query)
    outcome = await search_for(
        state,
        turn.settings,
        turn.resources.engines,
        private=private,
        cache=SearchCache(turn.resources.database),
        importable=turn.resources.settings.search_engines,
    )
    tell("searched", engine=outcome.engine, results=len(outcome.results))
    return {"search": outcome}


async def known(state: ConversationState, turn: Turn) -> list[str]:
    """The facts and pins of the user that the query may tell, and names among them.

    Raises:
        StorageError: the database fails.
    """
    if not turn.settings.facts:
        return []
    message = newest_question(state["messages"])[:_READ]
    terms = await asyncio.to_thread(question_terms, f"{state['search'].query or ''} {message}")
    found, pins = await turn.user.facts.sheet(
        turn.thread_id,
        terms,
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


async def search_for(
    state: ConversationState,
    settings: Settings,
    engines: Mapping[str, SearchEngine] | None = None,
    *,
    private: Sequence[str] = (),
    cache: ResultCache | None = None,
    breakers: Breakers = process_breakers,
    pages: PageReader | None = None,
    importable: Collection[str] | None = None,
) -> SearchOutcome:
    """The outcome so far with the query as sent, the engine used and its results, or an `error` that says what failed.

    Never raises.

    Args:
        state: `search` holds the query; without one, the newest user message is it.
        settings: which engines, how many results, how long, what stays private.
        engines: engines by name that stand for those everthread makes itself.
        private: known facts about the user, which do not leave.
        cache: where results are kept.
        breakers: which engines are left alone for now.
        pages: reads pages where `settings.fetch_pages` is on.
        importable: import paths that may be used as engines; None allows all.
    """
    outcome = state["search"]
    started = time.perf_counter()
    sent, answer = Redacted("", ()), WebAnswer()
    try:
        message = newest_question(state["messages"])[:_READ]
        # Before it is cut: half a phone number would not be known for one.
        query = message if outcome.query in {None, "", search_query(message)} else str(outcome.query)
        sent, language = await asyncio.to_thread(_prepared, query, message, settings, private)
        if sent.kinds and not sent.text:
            kinds = ", ".join(sent.kinds)
            answer = WebAnswer(error=f"The web was not searched: the query held nothing but what is private ({kinds}).")
        else:
            answer = await search_web(
                sent.text,
                settings,
                engines,
                language=language,
                cache=cache,
                breakers=breakers,
                pages=pages,
                importable=importable,
            )
    except Exception as error:
        _log.warning("Web search failed: %s.", type(error).__name__)
        answer = WebAnswer(error=f"The web search failed ({type(error).__name__}).")
    return outcome.model_copy(
        update={
            "sent": sent.text or None,
            "redacted": sent.kinds,
            "engine": answer.engine,
            "results": answer.results,
            "error": answer.error,
            "failures": answer.failures,
            "from_cache": answer.from_cache,
            "milliseconds": round((time.perf_counter() - started) * 1000, 1),
        }
    )


def _prepared(query: str, message: str, settings: Settings, private: Sequence[str]) -> tuple[Redacted, str | None]:
    """The query as it is to leave, and the language of the results. Blocking."""
    sent = (
        redact(query, private=private, names=settings.private_names) if settings.redact_queries else Redacted(query, ())
    )
    text = search_query(sent.text)
    return Redacted(text, sent.kinds), results_language(text, settings.search_language, message)
