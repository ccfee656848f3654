"""Any LangChain search wrapper, tool or retriever as a search engine, named by its import path.

Wrappers read their keys from the environment by themselves. What they offer differs, so the first of these is used:
`ainvoke` of a tool or retriever, `aresults`, `results` in a thread, `run` in a thread if it gives JSON.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.runnables import Runnable

from ..state.errors import SearchError
from ..state.search_records import SearchResult
from .faults import connection_error, status_error

_LIMITS: Final = ("max_results", "num_results", "count", "k", "n", "max_search_results")
_FIELDS: Final = {
    "title": ("title", "name"),
    "url": ("url", "link", "href", "source"),
    "content": ("content", "snippet", "body", "description", "text", "page_content"),
    "published": ("published", "published_date", "publishedDate", "date", "page_age", "age"),
}
"""The names under which wrappers give each of our fields."""


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
        wrapper = self._wrapper
        if isinstance(wrapper, Runnable):
            return await wrapper.ainvoke(query)
        if callable(method := getattr(wrapper, "aresults", None)):
            return await method(query, **_limit(method, max_results))
        for name in ("results", "run"):
            if callable(method := getattr(wrapper, name, None)):
                return await asyncio.to_thread(method, query, **_limit(method, max_results))
        raise SearchError(f"{self.name} is no search wrapper: it has none of ainvoke, aresults, results, run.")

    def _result(self, entry: Mapping[str, Any]) -> SearchResult | None:
        found = {
            field: next((str(entry[name]) for name in names if isinstance(entry.get(name), str)), "")
            for field, names in _FIELDS.items()
        }
        if not found["url"]:
            return None
        published = found.pop("published") or None
        return SearchResult(**found, published=published, engine=self.name)


def _limit(method: Callable[..., Any], max_results: int) -> dict[str, int]:
    """How many results to ask for, under the name that the method has for it."""
    try:
        parameters = inspect.signature(method).parameters
    except (TypeError, ValueError):
        return {}
    return {name: max_results for name in _LIMITS if name in parameters}


def _entries(name: str, answer: Any) -> Iterable[Mapping[str, Any]]:
    """The entries of an answer of any of the usual shapes.

    Raises:
        SearchError: it has no entries.
    """
    if isinstance(answer, str):
        answer = _parsed(answer)
    if isinstance(answer, Mapping):
        lists = (answer.get(key) for key in ("results", "organic", "organic_results", "items", "web"))
        answer = next((value for value in lists if isinstance(value, list)), None)
    if not isinstance(answer, list | tuple):
        raise SearchError(f"{name}'s answer cannot be read: it holds no list of pages with addresses.", "unreadable")
    for entry in answer:
        if isinstance(entry, Document):
            yield {**entry.metadata, "content": entry.page_content}
        elif isinstance(entry, Mapping):
            yield entry


def _parsed(text: str) -> Any:
    """Text as JSON; None for prose."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _fault(name: str, error: Exception) -> SearchError:
    """What a wrapper's exception means, by its response's status, or by its name."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None) or getattr(error, "status_code", None)
    if isinstance(status, int) and status != 200:
        return status_error(name, status, getattr(response, "headers", None) or {})
    if "ratelimit" in type(error).__name__.lower():
        return SearchError(f"{name} refuses for now: its rate limit is reached.", "rate limit")
    return connection_error(name, error)
