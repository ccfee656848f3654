"""SearXNG, a metasearch engine that one can run oneself: https://docs.searxng.org/dev/search_api.html.

Its settings must list the format `json`; many public instances do not.
"""

from __future__ import annotations

import base64
from urllib.parse import unquote

from ..state.errors import SearchError
from ..state.search_records import SearchResult
from .json_api import entries, get_json, text_of, variable


class SearXNG:
    """A SearXNG server.

    Args:
        base_url: its address; unset: the variable `SEARXNG_URL` or `SEARX_HOST`. A name and password in it
            ("https://name:password@host") are sent as basic authentication, and kept out of everything else.
    """

    name = "searxng"

    def __init__(self, base_url: str | None = None) -> None:
        address = (base_url or variable("SEARXNG_URL", "SEARX_HOST")).rstrip("/").removesuffix("/search")
        self._base_url, self._headers = _without_password(address)

    @property
    def variant(self) -> str:
        """What its results depend on beside the query; no secret."""
        return self._base_url

    def available(self) -> bool:
        """Whether its address is known."""
        return bool(self._base_url)

    async def search(
        self, query: str, max_results: int, timeout: float, language: str | None = None
    ) -> list[SearchResult]:
        """Pages for the query, best first; `timeout` in seconds, `language` as a code of two letters.

        Raises:
            SearchError: no answer in time, a refusal, or an answer that cannot be read.
        """
        params: dict[str, str | int] = {"q": query, "format": "json", "safesearch": 1, "language": language or "auto"}
        try:
            url = f"{self._base_url}/search"
            answer = await get_json(self.name, url, params, timeout=timeout, headers=self._headers)
        except SearchError as error:
            if error.kind == "refused" and "403" in str(error):
                text = "searxng refuses (HTTP 403): its settings must list json under search.formats."
                raise SearchError(text, "refused") from error
            raise
        found = entries(self.name, answer.get("results", []))
        if not found and answer.get("unresponsive_engines"):
            raise SearchError("searxng found nothing: the engines behind it do not respond.", "server")
        return [
            SearchResult(
                title=text_of(entry.get("title")),
                url=text_of(entry.get("url")),
                content=text_of(entry.get("content")),
                engine=self.name,
                published=text_of(entry.get("publishedDate"))[:10] or None,
            )
            for entry in found[:max_results]
        ]


def _without_password(address: str) -> tuple[str, dict[str, str]]:
    """The address without name and password, and the header that says them."""
    scheme, between, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    named, at, host = host.rpartition("@")
    if not at:
        return address, {}
    token = base64.b64encode(unquote(named).encode()).decode()
    return f"{scheme}{between}{host}{slash}{path}", {"Authorization": f"Basic {token}"}
