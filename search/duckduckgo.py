"""DuckDuckGo's HTML page, through the engine class of `ddgs`; needs no key, and refuses after a few searches.

`DDGS.text` is not used: it hides the status of a refusal, and asks other engines where this one is missing.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any, Final

from ..state.errors import SearchError
from ..state.search_records import SearchResult
from ..state.settings import Settings

_REGION: Final = "wt-wt"
"""DuckDuckGo's code for no region."""
_CHALLENGE: Final = "anomaly-modal"
"""The class on the page by which DuckDuckGo asks whether a person is searching; it may come with HTTP 200."""


class DuckDuckGo:
    """DuckDuckGo without a key."""

    name = "duckduckgo"

    def __init__(self, settings: Settings, search_url: str | None = None) -> None:
        self._search_url = search_url

    def available(self) -> bool:
        """Whether the package is there."""
        return find_spec("ddgs") is not None

    async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
        """Pages for the query, best first; `timeout` in seconds.

        Raises:
            SearchError: no answer in time, a refusal, or an answer that cannot be read.
        """
        try:
            async with asyncio.timeout(timeout):
                found = await asyncio.to_thread(self._ask, query, timeout)
        except SearchError:
            raise
        except TimeoutError as error:
            raise SearchError("duckduckgo did not answer in time.") from error
        except Exception as error:
            raise SearchError(_sentence(error)) from error
        return found[:max_results]

    def _ask(self, query: str, timeout: float) -> list[SearchResult]:
        """The same, blocking. The client gives up by itself, so that no thread outlives the deadline."""
        from ddgs.engines.duckduckgo import Duckduckgo

        page: Any = Duckduckgo(timeout=timeout)  # type: ignore[arg-type]  # whole seconds in the signature, any in the client
        payload = page.build_payload(query=query, region=_REGION, safesearch="moderate", timelimit=None)
        reply = page.http_client.request(page.search_method, self._search_url or page.search_url, data=payload)
        if reply.status_code in {202, 403, 429} or _CHALLENGE in reply.text:
            raise SearchError(f"duckduckgo refuses for now: it limits automatic searches (HTTP {reply.status_code}).")
        if reply.status_code != 200:
            raise SearchError(f"duckduckgo answered with HTTP {reply.status_code}.")
        if not reply.text.strip():
            raise SearchError("duckduckgo sent an empty page.")
        results = page.post_extract_results(page.extract_results(reply.text))
        return [
            SearchResult(title=result.title, url=result.href, content=result.body, engine="duckduckgo")
            for result in results
        ]


def _sentence(error: Exception) -> str:
    """What a failure of the client means, in one sentence; its own text may quote the query."""
    text = str(error)
    if type(error).__name__ == "TimeoutException" or "timed out" in text:
        return "duckduckgo did not answer in time."
    if "DNSError" in text or "ConnectError" in text or "connect" in text.lower():
        return "duckduckgo cannot be reached."
    return f"duckduckgo's answer cannot be read ({type(error).__name__})."
