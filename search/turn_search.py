"""The search of one turn: what may leave of its query, and what came of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ..settings.settings import Settings
from ..state.messages import newest_question
from ..state.search_records import SearchOutcome
from .breaker import Breakers, process_breakers
from .cleaning import search_query
from .engines import SearchEngine
from .failover import ResultCache
from .language import results_language
from .pages import PageReader
from .privacy import Redacted, redact
from .web_search import WebAnswer, search_web

if TYPE_CHECKING:
    from ..state.conversation import ConversationState

_log = logging.getLogger(__name__)

READ_CHARS: Final = 1500
"""Characters of a message that are read for its query."""


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
        message = newest_question(state["messages"])[:READ_CHARS]
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
