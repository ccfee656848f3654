"""Tavily, through its own client (`tavily-python`): https://docs.tavily.com/documentation/api-reference/endpoint/search."""

from __future__ import annotations

import asyncio
import os
from importlib.util import find_spec
from typing import Any, Final

from ..state.errors import SearchError
from ..state.search_records import SearchResult
from ..state.settings import Settings

_REFUSALS: Final = {
    "UsageLimitExceededError": "tavily refuses for now: its rate limit is reached (HTTP 429).",
    "InvalidAPIKeyError": "tavily does not accept the key (HTTP 401): check TAVILY_API_KEY.",
    "ForbiddenError": "tavily refuses: not allowed, or the plan's limit is reached (HTTP 403, 432, 433).",
    "BadRequestError": "tavily cannot read the request (HTTP 400).",
    "TimeoutError": "tavily did not answer in time.",
    "ConnectError": "tavily cannot be reached.",
    "ProxyError": "tavily cannot be reached through the proxy.",
    "RemoteProtocolError": "tavily broke off its answer.",
    "ReadError": "tavily broke off its answer.",
}
"""What the client's exceptions mean. Their own text may quote the query, so it is not passed on."""


class Tavily:
    """The Tavily search API; needs a key."""

    name = "tavily"

    def __init__(self, settings: Settings, base_url: str | None = None) -> None:
        key = settings.tavily_api_key
        self._key = key.get_secret_value() if key else os.environ.get("TAVILY_API_KEY", "")
        self._base_url = base_url

    def available(self) -> bool:
        """Whether there is a key, and the package."""
        return bool(self._key.strip()) and find_spec("tavily") is not None

    async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
        """Pages for the query, best first; `timeout` in seconds.

        Raises:
            SearchError: no answer in time, a refusal, or an answer that cannot be read.
        """
        try:
            async with asyncio.timeout(timeout):
                # The client reads certificates from disk when it is made.
                client = await asyncio.to_thread(self._client)
                async with client:
                    answer = await client.search(query, search_depth="basic", max_results=max_results, timeout=timeout)
        except Exception as error:
            raise SearchError(_sentence(error)) from error
        return _results(answer)

    def _client(self) -> Any:
        import anyio._backends._asyncio  # noqa: F401  # loaded here, not by the first request on the event loop
        from tavily import AsyncTavilyClient

        return AsyncTavilyClient(api_key=self._key, api_base_url=self._base_url)


def _sentence(error: Exception) -> str:
    """What a failure of the client means, in one sentence."""
    known = _REFUSALS.get(type(error).__name__)
    if known:
        return known
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"tavily answered with HTTP {status}."
    if isinstance(error, TypeError | AttributeError):
        # The client raises these itself on any other 2xx status, and on JSON that is no object.
        return "tavily's answer cannot be read: it is neither results nor a known refusal."
    if isinstance(error, ValueError):
        return "tavily's answer cannot be read: it is no valid JSON."
    return f"tavily failed ({type(error).__name__})."


def _results(answer: object) -> list[SearchResult]:
    """The results of Tavily's answer; entries of another shape are passed over.

    Raises:
        SearchError: the answer as a whole has another shape.
    """
    entries = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        raise SearchError("tavily's answer cannot be read: it holds no list of results.")
    return [
        SearchResult(
            title=_text(entry.get("title")),
            url=_text(entry.get("url")),
            content=_text(entry.get("content")),
            engine="tavily",
            published=_text(entry.get("published_date")) or None,
        )
        for entry in entries
        if isinstance(entry, dict)
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
