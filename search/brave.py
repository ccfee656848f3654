"""Brave Search, through its API: https://api-dashboard.search.brave.com/app/documentation/web-search."""

from __future__ import annotations

from typing import Final

from ..state.search_records import SearchResult
from .json_api import entries, get_json, text_of, variable

_LANGUAGES: Final = {"ja": "jp", "no": "nb", "zh": "zh-hans", "pt": "pt-pt"}
"""Brave's own codes, where they differ."""

_UNKNOWN: Final = frozenset({"fa", "hy", "id", "kk"})
"""Languages that we tell and Brave does not take."""


class Brave:
    """The Brave Search API.

    Args:
        key: unset: the variable `BRAVE_SEARCH_API_KEY` or `BRAVE_API_KEY`.
        base_url: its address; unset: Brave's own.
    """

    name = "brave"

    def __init__(self, key: str | None = None, base_url: str | None = None) -> None:
        self._key = key or variable("BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY")
        self._base_url = base_url or "https://api.search.brave.com"

    def available(self) -> bool:
        """Whether there is a key."""
        return bool(self._key)

    async def search(
        self, query: str, max_results: int, timeout: float, language: str | None = None
    ) -> list[SearchResult]:
        """Pages for the query, best first; `timeout` in seconds, `language` as a code of two letters.

        Raises:
            SearchError: no answer in time, a refusal, or an answer that cannot be read.
        """
        params: dict[str, str | int] = {"q": query, "count": min(max_results, 20), "extra_snippets": "true"}
        if language and language not in _UNKNOWN:
            params["search_lang"] = _LANGUAGES.get(language, language)
        headers = {"X-Subscription-Token": self._key}
        url = f"{self._base_url}/res/v1/web/search"
        answer = await get_json(self.name, url, params, timeout=timeout, headers=headers)
        web = answer.get("web")
        found = entries(self.name, web.get("results", []) if isinstance(web, dict) else [])
        return [
            SearchResult(
                title=text_of(entry.get("title")),
                url=text_of(entry.get("url")),
                content=" ".join([text_of(entry.get("description")), *_more(entry.get("extra_snippets"))]),
                engine=self.name,
                published=text_of(entry.get("page_age"))[:10] or text_of(entry.get("age")) or None,
            )
            for entry in found
        ]


def _more(snippets: object) -> list[str]:
    return [text_of(snippet) for snippet in snippets] if isinstance(snippets, list) else []
