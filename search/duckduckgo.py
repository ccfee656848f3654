"""DuckDuckGo's HTML page, through the engine class of `ddgs`; needs no key, and refuses after a few searches.

`DDGS.text` is not used: it hides the status of a refusal, and asks other engines where this one is missing.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any, Final

from ..models.failures import retry_after
from ..state.errors import SearchError
from ..state.search_records import SearchResult
from .http import status_error

_NO_REGION: Final = "wt-wt"
"""DuckDuckGo's code for no region."""
_REGIONS: Final = {
    "ar": "xa-ar", "de": "de-de", "es": "es-es", "fr": "fr-fr", "hi": "in-en", "it": "it-it", "ja": "jp-jp",
    "ko": "kr-kr", "nl": "nl-nl", "pl": "pl-pl", "pt": "br-pt", "ru": "ru-ru", "sv": "se-sv", "tr": "tr-tr",
    "uk": "ua-uk", "zh": "cn-zh",
}  # fmt: skip
"""DuckDuckGo has regions instead of languages. English has none: its pages are many regions'."""
_CHALLENGE: Final = "anomaly-modal"
"""The class on the page by which DuckDuckGo asks whether a person is searching; it may come with HTTP 200."""


class DuckDuckGo:
    """DuckDuckGo without a key."""

    name = "duckduckgo"

    def __init__(self, search_url: str | None = None) -> None:
        self._search_url = search_url

    def available(self) -> bool:
        """Whether the package is there."""
        return find_spec("ddgs") is not None

    async def search(
        self, query: str, max_results: int, timeout: float, language: str | None = None
    ) -> list[SearchResult]:
        """Pages for the query, best first; `timeout` in seconds, `language` as a code of two letters.

        Raises:
            SearchError: no answer in time, a refusal, or an answer that cannot be read.
        """
        region = _REGIONS.get(language or "", _NO_REGION)
        try:
            async with asyncio.timeout(timeout):
                found = await asyncio.to_thread(self._ask, query, region, timeout)
        except SearchError:
            raise
        except Exception as error:
            raise _fault(error) from error
        return found[:max_results]

    def _ask(self, query: str, region: str, timeout: float) -> list[SearchResult]:
        """The same, blocking. The client gives up by itself, so that no thread outlives the deadline."""
        from ddgs.engines.duckduckgo import Duckduckgo

        page: Any = Duckduckgo(timeout=timeout)  # type: ignore[arg-type]  # whole seconds in the signature, any in the client
        payload = page.build_payload(query=query, region=region, safesearch="moderate", timelimit=None)
        reply = page.http_client.request(page.search_method, self._search_url or page.search_url, data=payload)
        if reply.status_code in {202, 403, 429} or _CHALLENGE in reply.text:
            raise SearchError(
                f"duckduckgo refuses for now: it limits automatic searches (HTTP {reply.status_code}).",
                "rate limit",
                retry_after(_headers(reply)),
            )
        if reply.status_code != 200:
            raise status_error(self.name, reply.status_code, _headers(reply))
        if not reply.text.strip():
            raise SearchError("duckduckgo sent an empty page.", "unreadable")
        results = page.post_extract_results(page.extract_results(reply.text))
        return [
            SearchResult(title=result.title, url=result.href, content=result.body, engine="duckduckgo")
            for result in results
        ]


def _headers(reply: Any) -> dict[str, str]:
    """The headers of a reply, which the client keeps inside."""
    return dict(getattr(getattr(reply, "_resp", None), "headers", None) or {})


def _fault(error: Exception) -> SearchError:
    """What a failure of the client means; its own text may quote the query."""
    text = str(error)
    if isinstance(error, TimeoutError) or type(error).__name__ == "TimeoutException" or "timed out" in text:
        return SearchError("duckduckgo did not answer in time.", "timeout")
    if "DNSError" in text or "connect" in text.lower():
        return SearchError("duckduckgo cannot be reached.", "unreachable")
    return SearchError(f"duckduckgo's answer cannot be read ({type(error).__name__}).", "unreadable")
