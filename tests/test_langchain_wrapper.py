"""Any LangChain search wrapper, tool or retriever as a search engine, by its import path."""

from __future__ import annotations

import json
import sys
import types
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool

from everthread.search import failover
from everthread.search.breaker import Breakers
from everthread.search.web_search import WebAnswer, search_web
from everthread.settings.settings import Settings


async def ask(name: str, **more: Any) -> WebAnswer:
    return await search_web("ants", Settings(search_engines=(name,)), breakers=Breakers(), **more)


class ListWrapper:
    """As DuckDuckGoSearchAPIWrapper gives results."""

    def results(self, query: str, max_results: int, source: str | None = None) -> list[dict[str, str]]:
        return [
            {"snippet": f"{query} {max_results}", "title": "T", "link": "https://example.org/x", "date": "2026-01-01"}
        ]


class ObjectWrapper:
    """As GoogleSerperAPIWrapper gives results."""

    def results(self, query: str) -> dict[str, Any]:
        return {"organic": [{"title": "T", "link": "https://example.org/x", "snippet": query}]}


class Retriever(BaseRetriever):
    """As TavilySearchAPIRetriever gives results."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content=query, metadata={"title": "T", "source": "https://example.org/x"})]


class Prose:
    def results(self, query: str) -> str:
        return "Ants live in hills."


class Other:
    pass


class Limited:
    def results(self, query: str) -> list[dict[str, str]]:
        raise type("RatelimitException", (Exception,), {})(f"202 for {query}")


@tool
def lookup(query: str) -> list[dict[str, str]]:
    """Search."""
    return [{"title": "T", "url": "https://example.org/x", "content": query}]


@tool
def as_json(query: str) -> str:
    """Search; as BraveSearch gives results."""
    return json.dumps([{"title": "T", "link": "https://example.org/x", "snippet": query}])


@pytest.fixture
def wrappers(monkeypatch: pytest.MonkeyPatch) -> str:
    module = types.ModuleType("some_wrappers")
    for made in (ListWrapper, ObjectWrapper, Retriever, Prose, Other, Limited):
        setattr(module, made.__name__, made)
    module.Tool = lambda: lookup  # type: ignore[attr-defined]
    module.JsonTool = lambda: as_json  # type: ignore[attr-defined]
    monkeypatch.setattr(failover, "_BACK_OFF", 0.001)
    monkeypatch.setitem(sys.modules, "some_wrappers", module)
    return "some_wrappers"


@pytest.mark.parametrize("name", ["ListWrapper", "ObjectWrapper", "Retriever", "Tool", "JsonTool"])
async def test_any_langchain_wrapper_serves_by_its_import_path(wrappers: str, name: str) -> None:
    answer = await ask(f"{wrappers}:{name}")
    (result,) = answer.results
    assert (result.title, result.url) == ("T", "https://example.org/x")
    assert result.content.startswith("ants")
    assert answer.engine == result.engine == f"{wrappers}:{name}"


async def test_a_wrapper_that_cannot_be_used_says_why(wrappers: str) -> None:
    for name, words, kind in (
        ("Prose", "no list of pages", "unreadable"),
        ("Other", "neither ainvoke nor results", "failed"),
        ("Limited", "rate limit", "rate limit"),
        ("Missing", "cannot be imported", "unavailable"),
    ):
        answer = await ask(f"{wrappers}:{name}")
        (failure,) = answer.failures
        assert words in failure.problem
        assert failure.kind == kind


async def test_a_run_cannot_name_a_class_to_import(wrappers: str) -> None:
    path = f"{wrappers}:ListWrapper"
    answer = await ask(path, importable=("tavily",))
    assert not answer.results
    assert "only the settings of the process may name" in str(answer.error)
    assert (await ask(path, importable=(path,))).results
