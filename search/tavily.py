"""Tavily, through its own client (`tavily-python`): https://docs.tavily.com/documentation/api-reference/endpoint/search."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any, Final

from ..state.errors import SearchError, SearchFault
from ..state.search_records import SearchResult
from .http import connection_error, status_error, tls_context
from .json_api import text_of, variable

_API: Final = "https://api.tavily.com"
_REFUSALS: Final[dict[str, tuple[str, SearchFault]]] = {
    "InvalidAPIKeyError": ("tavily does not accept the key (HTTP 401): check TAVILY_API_KEY.", "refused"),
    "ForbiddenError": ("tavily refuses: not allowed, or the plan's limit is reached (HTTP 403, 432, 433).", "refused"),
    "BadRequestError": ("tavily cannot read the request (HTTP 400).", "refused"),
}
"""What the client's exceptions mean. Their own text may quote the query, so it is not passed on."""


class Tavily:
    """The Tavily search API.

    Args:
        key: unset: the variable `TAVILY_API_KEY`.
        base_url: its address; unset: Tavily's own.
    """

    name = "tavily"

    def __init__(self, key: str | None = None, base_url: str | None = None) -> None:
        self._key = key or variable("TAVILY_API_KEY")
        self._base_url = base_url

    def available(self) -> bool:
        """Whether there is a key, and the package."""
        return bool(self._key) and find_spec("tavily") is not None

    async def search(
        self, query: str, max_results: int, timeout: float, language: str | None = None
    ) -> list[SearchResult]:
        """Pages for the query, best first; `timeout` in seconds, `language` as a code of two letters.

        Raises:
            SearchError: no answer in time, a refusal, or an answer that cannot be read.
        """
        seen: list[Any] = []
        more = {"language": language} if language else {}
        try:
            async with asyncio.timeout(timeout):
                # Certificates are read from disk at first.
                http, client = await asyncio.to_thread(self._clients, seen)
                async with http:
                    answer = await client.search(
                        query, search_depth="basic", max_results=max_results, timeout=timeout, **more
                    )
        except Exception as error:
            raise _fault(error, seen) from error
        return _results(answer)

    def _clients(self, seen: list[Any]) -> tuple[Any, Any]:
        """The HTTP client, which puts what it received into `seen`, and Tavily's client on it."""
        import anyio._backends._asyncio  # noqa: F401  # loaded here, not by the first request on the event loop
        import httpx
        from tavily import AsyncTavilyClient

        async def note(response: httpx.Response) -> None:
            seen.append(response)

        http = httpx.AsyncClient(
            base_url=self._base_url or _API, verify=tls_context(), event_hooks={"response": [note]}
        )
        return http, AsyncTavilyClient(api_key=self._key, client=http)


def _fault(error: Exception, seen: list[Any]) -> SearchError:
    """What a failure of the client means."""
    if known := _REFUSALS.get(type(error).__name__):
        return SearchError(*known)
    if seen and seen[-1].status_code >= 400:
        return status_error("tavily", seen[-1].status_code, seen[-1].headers)
    if isinstance(error, TypeError | AttributeError):
        # The client raises these itself on any other 2xx status, and on JSON that is no object.
        return SearchError("tavily's answer cannot be read: it is neither results nor a known refusal.", "unreadable")
    return connection_error("tavily", error)


def _results(answer: object) -> list[SearchResult]:
    """The results of Tavily's answer; entries of another shape are passed over.

    Raises:
        SearchError: the answer as a whole has another shape.
    """
    entries = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        raise SearchError("tavily's answer cannot be read: it holds no list of results.", "unreadable")
    return [
        SearchResult(
            title=text_of(entry.get("title")),
            url=text_of(entry.get("url")),
            content=text_of(entry.get("content")),
            engine="tavily",
            published=text_of(entry.get("published_date")) or None,
        )
        for entry in entries
        if isinstance(entry, dict)
    ]
