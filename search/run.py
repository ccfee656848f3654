"""One web search: engines in order of preference, with failover, within one deadline."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from ..state.errors import SearchError
from ..state.search_records import SearchResult
from ..state.settings import Settings
from .cleaning import clean_results, search_query
from .engines import SearchEngine, engine, needs

_log = logging.getLogger(__name__)


async def search_web(
    query: str, settings: Settings, engines: Mapping[str, SearchEngine] | None = None
) -> tuple[str | None, list[SearchResult], str | None]:
    """The engine that found something, what it found as plain text, and otherwise why nothing was found.

    Engines without a key are passed over. Each of those left may use an equal share of what remains of
    `settings.search_timeout`, so that one that hangs leaves time for the next. Never raises.

    Args:
        query: what to search for; cut to what engines take.
        settings: which engines, how many results, how long.
        engines: engines by name that stand for those everthread makes itself.
    """
    query = search_query(query)
    if not query:
        return None, [], "The web was not searched: there is nothing to search for."
    usable, problems = await asyncio.to_thread(_usable, settings, engines or {})  # it looks for packages on disk
    loop = asyncio.get_running_loop()
    deadline = loop.time() + settings.search_timeout
    for place, candidate in enumerate(usable):
        share = (deadline - loop.time()) / (len(usable) - place)
        found, problem = await _ask(candidate, query, settings.max_results, share)
        if found:
            return candidate.name, found, None
        problems.append(problem)
    return None, [], f"The web search brought nothing: {'; '.join(problems)}."


def _usable(settings: Settings, given: Mapping[str, SearchEngine]) -> tuple[list[SearchEngine], list[str]]:
    """The engines that can be asked, and why the others cannot."""
    usable: list[SearchEngine] = []
    problems: list[str] = []
    for name in dict.fromkeys(settings.search_engines):
        try:
            candidate = given[name] if name in given else engine(name, settings)
            if candidate.available():
                usable.append(candidate)
            else:
                problems.append(f"{name} needs {needs(name)}")
        except Exception as error:
            problems.append(_problem(name, error))
    return usable, problems


async def _ask(candidate: SearchEngine, query: str, limit: int, seconds: float) -> tuple[list[SearchResult], str]:
    """What one engine found, cleaned, or what went wrong."""
    if seconds <= 0:
        return [], f"no time was left for {candidate.name}"
    try:
        async with asyncio.timeout(seconds):
            raw = await candidate.search(query, limit, seconds)
        found = await asyncio.to_thread(clean_results, raw, limit)
    except TimeoutError:
        problem = f"{candidate.name} did not answer within {seconds:.3g} s"
    except Exception as error:
        problem = _problem(candidate.name, error)
    else:
        if found:
            return found, ""
        problem = f"{candidate.name} found nothing"
    _log.warning("Web search: %s.", problem.replace(query, "[query]"))
    return [], problem


def _problem(name: str, error: Exception) -> str:
    """A failure as part of a sentence that names the engine; the text of other errors may quote the query."""
    if isinstance(error, SearchError):
        text = str(error).rstrip(".")
        return text if name in text else f"{name}: {text}"
    return f"{name} failed ({type(error).__name__})"
