"""Web search engines: the protocol they share, and the registry that makes one from its name."""

from __future__ import annotations

import importlib
from typing import Final, NamedTuple, Protocol, cast

from ..state.errors import SearchError
from ..state.search_records import SearchResult
from ..state.settings import Settings


class SearchEngine(Protocol):
    """One web search engine."""

    @property
    def name(self) -> str:
        """The name in `Settings.search_engines` and in results."""

    def available(self) -> bool:
        """Whether its key and its package are there. Quick, and without a network."""

    async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
        """Pages for the query, best first, as the engine gave them; `timeout` in seconds.

        Raises:
            SearchError: no answer in time, a refusal, or an answer that cannot be read; one sentence.
        """


class _Known(NamedTuple):
    module: str
    class_name: str
    needs: str


_KNOWN: Final = {
    "tavily": _Known("tavily", "Tavily", "a key in EVERTHREAD_TAVILY_API_KEY or TAVILY_API_KEY"),
    "duckduckgo": _Known("duckduckgo", "DuckDuckGo", "the package ddgs"),
}


def engine(name: str, settings: Settings) -> SearchEngine:
    """The search engine of this name.

    Raises:
        SearchError: no engine has this name.
    """
    known = _KNOWN.get(name.strip().lower())
    if known is None:
        raise SearchError(f"Unknown search engine {name!r}: everthread knows {' and '.join(_KNOWN)}.")
    module = importlib.import_module(f".{known.module}", __package__)
    return cast("SearchEngine", getattr(module, known.class_name)(settings))


def needs(name: str) -> str:
    """What an engine must have to be available, as the end of a sentence."""
    known = _KNOWN.get(name)
    return known.needs if known else "its key or its package"
