"""One web search: engines, fusion of what they found, the pages themselves if wanted, all within one deadline."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from typing import Final, NamedTuple

from ..settings.settings import Settings
from ..state.errors import SearchError, SearchFault
from ..state.search_records import EngineFailure, SearchResult
from ..text.shorten import beginning
from .breaker import Breakers, process_breakers
from .cleaning import harmless, search_query, shortened_query, trimmed
from .engines import SearchEngine, engine, is_import_path, needs
from .extraction import Page
from .failover import EngineCalls, Failover, ResultCache
from .fusion import fused
from .pages import PageReader

_log = logging.getLogger(__name__)

_SHARE_OF_ENGINES: Final = 0.6
"""The share of the time that engines may take where pages are to be read after."""
_MAX_TITLE: Final = 300
_PACKAGES: Final = ("lxml", "trafilatura")
"""Of the extra `search`, which read what engines and pages answer."""


class WebAnswer(NamedTuple):
    """What a search brought: results, or an `error` that says why there are none; failures on the way in any case."""

    engine: str | None = None
    results: tuple[SearchResult, ...] = ()
    error: str | None = None
    failures: tuple[EngineFailure, ...] = ()
    from_cache: bool = False


async def search_web(
    query: str,
    settings: Settings,
    engines: Mapping[str, SearchEngine] | None = None,
    *,
    language: str | None = None,
    cache: ResultCache | None = None,
    breakers: Breakers = process_breakers,
    pages: PageReader | None = None,
    importable: Collection[str] | None = None,
) -> WebAnswer:
    """Search the web. Never raises.

    Engines without a key are passed over. Each of those left may use an equal share of what remains of
    `settings.timeouts.search`, so that one that hangs leaves time for the next.

    Args:
        query: what to search for, without what is private; cut to what engines take.
        settings: which engines, how many at once, how many results, how long.
        engines: engines by name that stand for those everthread makes itself.
        language: the language of the results, as a code of two letters.
        cache: where results are kept.
        breakers: which engines are left alone for now.
        pages: reads pages where `settings.fetch_pages` is on; by default one that connects to public addresses only.
        importable: import paths that may be used as engines; None allows all. A run on a server may name any engine in
            its context, and importing is running code.
    """
    query = search_query(query)
    if not query:
        return WebAnswer(error="The web was not searched: there is nothing to search for.")
    loop = asyncio.get_running_loop()
    deadline = loop.time() + settings.timeouts.search
    # It looks for packages on disk, and may import some.
    usable, failures = await asyncio.to_thread(_usable, settings, engines or {}, importable)
    seconds = (deadline - loop.time()) * (_SHARE_OF_ENGINES if settings.fetch_pages else 1.0)
    failover = Failover(
        query,
        settings.max_results,
        seconds,
        language=language,
        cache=cache,
        cache_seconds=settings.retention.search_cache.total_seconds(),
    )
    asked = [EngineCalls(engine, breakers.of(engine.name)) for engine in usable]
    await failover.ask(asked, settings.search_at_once)
    failures += [failure for calls in asked if (failure := calls.failure())]
    # An engine of one's own may call itself otherwise than the settings do.
    indices = {name: index for index, name in enumerate(settings.search_engines)}
    failures.sort(key=lambda failure: indices.get(failure.engine, len(indices)))
    answered = [calls for calls in asked if calls.found]
    if not answered:
        told = "; ".join(failure.problem for failure in failures)
        return WebAnswer(error=f"The web search brought nothing: {told}.", failures=tuple(failures))
    results = fused([calls.found or [] for calls in answered], settings.max_results)
    if settings.fetch_pages:
        results, unread = await _with_pages(results, query, deadline - loop.time(), pages or PageReader())
        failures += unread
    results = await asyncio.to_thread(trimmed, results, query, settings.max_search_tokens)
    return WebAnswer(
        engine="+".join(calls.engine.name for calls in answered),
        results=tuple(results),
        failures=tuple(failures),
        from_cache=all(calls.from_cache for calls in answered),
    )


def _usable(
    settings: Settings, given: Mapping[str, SearchEngine], importable: Collection[str] | None
) -> tuple[list[SearchEngine], list[EngineFailure]]:
    """The engines that can be asked, and why the others cannot."""
    usable: list[SearchEngine] = []
    failures: list[EngineFailure] = []
    missing = [package for package in _PACKAGES if find_spec(package) is None]
    for name in dict.fromkeys(settings.search_engines):
        problem = ""
        try:
            if missing:
                problem = f"{name} needs packages that are missing: pip install 'everthread[search]'"
            elif name not in given and is_import_path(name) and importable is not None and name not in importable:
                problem = f"{name} is an import path, which only the settings of the process may name"
            else:
                candidate = given[name] if name in given else engine(name)
                if candidate.available():
                    usable.append(candidate)
                else:
                    problem = f"{name} needs {needs(name)}"
        except SearchError as error:
            problem = str(error).rstrip(".")
        except Exception as error:
            problem = f"{name} failed ({type(error).__name__})"
        if problem:
            failures.append(EngineFailure(engine=name, kind="unavailable", problem=problem, attempts=0))
    return usable, failures


async def _with_pages(
    results: Sequence[SearchResult], query: str, seconds: float, pages: PageReader
) -> tuple[list[SearchResult], list[EngineFailure]]:
    """The results with what their pages say where that could be read, and why the others could not."""
    if seconds <= 0:
        return list(results), [_unread("timeout", "no time was left to read the pages")]
    async with pages:
        read = await asyncio.gather(*(_page(pages, result.url, seconds) for result in results))
    failures = [_unread(page.kind, str(page).rstrip(".")) for page in read if isinstance(page, SearchError)]
    whole = await asyncio.to_thread(
        lambda: [
            result if isinstance(page, SearchError) else _from_page(result, page, query)
            for result, page in zip(results, read, strict=True)
        ]
    )
    return whole, failures


async def _page(pages: PageReader, url: str, seconds: float) -> Page | SearchError:
    try:
        return await pages.read(url, seconds)
    except SearchError as error:
        _log.info("A page was not read: %s", error)
        return error
    except Exception as error:
        _log.warning("A page was not read: %s.", type(error).__name__)
        return SearchError(f"the page cannot be read ({type(error).__name__}).")


def _from_page(result: SearchResult, page: Page, query: str) -> SearchResult:
    text = "\n".join(line for line in map(harmless, page.text.split("\n")) if line)
    title = beginning(harmless(page.title), _MAX_TITLE) if result.title == result.url else result.title
    return result.model_copy(
        update={
            "content": shortened_query(text, query),
            "title": title or result.title,
            "published": result.published or page.published,
            "whole": True,
        }
    )


def _unread(kind: SearchFault, problem: str) -> EngineFailure:
    return EngineFailure(engine="page", kind=kind, problem=problem)
