"""Web search engines: the protocol they share, and the registry that makes one from its name."""

from __future__ import annotations

import importlib
from typing import Final, NamedTuple, Protocol, cast

from ..state.errors import SearchError
from ..state.search_records import SearchResult


class SearchEngine(Protocol):
    """One web search engine.

    Its `search` may also take `language`, a code of two letters or None, by name. An attribute `variant` may tell
    what its results depend on beside the query (a server's address), so that other results are not taken from the
    cache.
    """

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
    "tavily": _Known("tavily", "Tavily", "a key in TAVILY_API_KEY"),
    "duckduckgo": _Known("duckduckgo", "DuckDuckGo", "the package ddgs"),
    "google": _Known("google", "Google", "a key in GOOGLE_API_KEY and an engine's id in GOOGLE_CSE_ID"),
    "searxng": _Known("searxng", "SearXNG", "an address in SEARXNG_URL or SEARX_HOST"),
    "brave": _Known("brave", "Brave", "a key in BRAVE_SEARCH_API_KEY"),
}


def engine(name: str) -> SearchEngine:
    """The search engine of this name; `package.module:Class` is a LangChain search wrapper.

    Raises:
        SearchError: no engine has this name, or the wrapper cannot be made.
    """
    name = name.strip()
    if is_import_path(name):
        from .langchain_wrapper import LangChainWrapper

        return LangChainWrapper(name)
    known = _KNOWN.get(name.lower())
    if known is None:
        raise SearchError(
            f"Unknown search engine {name!r}: everthread knows {', '.join(_KNOWN)}, and LangChain search wrappers as "
            "package.module:Class.",
            "unavailable",
        )
    module = importlib.import_module(f".{known.module}", __package__)
    return cast("SearchEngine", getattr(module, known.class_name)())


def is_import_path(name: str) -> bool:
    """Whether an engine's name says which class to import."""
    return ":" in name


def needs(name: str) -> str:
    """What an engine must have to be available, as the end of a sentence."""
    known = _KNOWN.get(name)
    return known.needs if known else "its key or its package"
