"""Google, through the JSON API of the Programmable Search Engine, which Google ends on 2027-01-01.

https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list
"""

from __future__ import annotations

from typing import Any, Final

from ..state.search_records import SearchResult
from .json_api import entries, get_json, text_of, variable

_DATES: Final = ("article:published_time", "article:modified_time", "datepublished", "date")


class Google:
    """Google's web search.

    Args:
        key: unset: the variable `GOOGLE_API_KEY`.
        engine: the id (cx) of a search engine made in Google's control panel; unset: the variable `GOOGLE_CSE_ID`.
        base_url: its address; unset: Google's own.
    """

    name = "google"

    def __init__(self, key: str | None = None, engine: str | None = None, base_url: str | None = None) -> None:
        self._key = key or variable("GOOGLE_API_KEY")
        self._engine = engine or variable("GOOGLE_CSE_ID")
        self._base_url = base_url or "https://www.googleapis.com"

    @property
    def variant(self) -> str:
        """What its results depend on beside the query."""
        return self._engine

    def available(self) -> bool:
        """Whether there are a key and an engine id."""
        return bool(self._key and self._engine)

    async def search(
        self, query: str, max_results: int, timeout: float, language: str | None = None
    ) -> list[SearchResult]:
        """Pages for the query, best first; `timeout` in seconds, `language` as a code of two letters.

        Raises:
            SearchError: no answer in time, a refusal, or an answer that cannot be read.
        """
        params: dict[str, str | int] = {"cx": self._engine, "q": query, "num": min(max_results, 10)}
        if language:
            params["hl"] = language
        # As a header, the key stays out of logged addresses.
        headers = {"x-goog-api-key": self._key}
        url = f"{self._base_url}/customsearch/v1"
        answer = await get_json(self.name, url, params, timeout=timeout, headers=headers)
        return [
            SearchResult(
                title=text_of(entry.get("title")),
                url=text_of(entry.get("link")),
                content=text_of(entry.get("htmlSnippet")) or text_of(entry.get("snippet")),
                engine=self.name,
                published=_published(entry.get("pagemap")),
            )
            for entry in entries(self.name, answer.get("items", []))
        ]


def _published(pagemap: Any) -> str | None:
    """The date that the page gives in its meta tags, if it does."""
    tags = pagemap.get("metatags") if isinstance(pagemap, dict) else None
    first = tags[0] if isinstance(tags, list) and tags and isinstance(tags[0], dict) else {}
    return next((text_of(first[name])[:10] for name in _DATES if text_of(first.get(name))), None)
