"""Any LangChain search tool, retriever or wrapper as a search engine, named by its import path.

A tool or retriever is invoked; of a wrapper, `results` is called in a thread. Keys come from the environment.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.runnables import Runnable

from ..state.errors import SearchError
from ..state.search_records import SearchResult
from .http import connection_error, status_error

_LIMITS: Final = ("max_results", "num_results")
_LISTS: Final = ("results", "organic", "organic_results")
_FIELDS: Final = {
    "title": ("title",),
    "url": ("url", "link", "source"),
    "content": ("content", "snippet", "description"),
    "published": ("published_date", "date"),
}
"""The names under which wrappers of langchain-community, and Tavily's tool, give each of our fields."""


class LangChainWrapper:
    """A search engine behind a class of LangChain's.

    Args:
        path: `package.module:Class`. The class is made without arguments.

    Raises:
        SearchError: there is no such class, or it cannot be made without arguments.
    """

    def __init__(self, path: str) -> None:
        self.name = path
        module, _, attribute = path.partition(":")
        try:
            self._wrapper: Any = getattr(importlib.import_module(module), attribute)()
        except (ImportError, AttributeError) as error:
            raise SearchError(f"{path} cannot be imported ({type(error).__name__}).", "unavailable") from error
        except Exception as error:
            # Mostly a key that is missing; the error's text may show others, so it is not passed on.
            text = f"{path} cannot be made ({type(error).__name__}): it may need a key in the environment."
            raise SearchError(text, "unavailable") from error

    def available(self) -> bool:
        """True: it could be made."""
        return True

    async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
        """Pages for the query, best first; `timeout` in seconds. A wrapper that blocks may go on in its thread.

        Raises:
            SearchError: no answer in time, a refusal, or an answer without pages.
        """
        try:
            async with asyncio.timeout(timeout):
                answer = await self._ask(query, max_results)
        except SearchError:
            raise
        except Exception as error:
            raise _fault(self.name, error) from error
        return [result for entry in _entries(self.name, answer) if (result := self._result(entry))][:max_results]

    async def _ask(self, query: str, max_results: int) -> Any:
        if isinstance(self._wrapper, Runnable):
            return await self._wrapper.ainvoke(query)
        if not callable(results := getattr(self._wrapper, "results", None)):
            raise SearchError(f"{self.name} is no search tool: it has neither ainvoke nor results.")
        limits = {name: max_results for name in _LIMITS if name in inspect.signature(results).parameters}
        return await asyncio.to_thread(results, query, **limits)

    def _result(self, entry: Mapping[str, Any]) -> SearchResult | None:
        found = {
            field: next((entry[name] for name in names if isinstance(entry.get(name), str)), "")
            for field, names in _FIELDS.items()
        }
        published = found.pop("published") or None
        return SearchResult(**found, published=published, engine=self.name) if found["url"] else None


def _entries(name: str, answer: Any) -> Iterator[Mapping[str, Any]]:
    """The entries of an answer: a list of them or of documents, an object that holds a list, or one of both as JSON.

    Raises:
        SearchError: it has no entries.
    """
    if isinstance(answer, str):
        try:
            answer = json.loads(answer)
        except (ValueError, RecursionError):
            answer = None
    if isinstance(answer, Mapping):
        answer = next((answer[key] for key in _LISTS if key in answer), None)
    if not isinstance(answer, list):
        raise SearchError(f"{name}'s answer cannot be read: it holds no list of pages with addresses.", "unreadable")
    for entry in answer:
        if isinstance(entry, Document):
            yield {**entry.metadata, "content": entry.page_content}
        elif isinstance(entry, Mapping):
            yield entry


def _fault(name: str, error: Exception) -> SearchError:
    """What a wrapper's exception means, by its response's status, or by its name."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None) or getattr(error, "status_code", None)
    if isinstance(status, int) and status != 200:
        return status_error(name, status, getattr(response, "headers", None) or {})
    if "ratelimit" in type(error).__name__.lower():
        return SearchError(f"{name} refuses for now: its rate limit is reached.", "rate limit")
    return connection_error(name, error)
