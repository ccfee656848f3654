"""The search branch beside the memory branch: what runs when, and what a follow-up is searched for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conversation import EVERYTHING, EchoModel, say, thread
from fake_web import Server, engines_of, lone_server
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from everthread.graph.open import open_graph
from everthread.runtime import router_call as node
from everthread.runtime.chat_models import ChatModels
from everthread.search.router.small_model import Answers


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with lone_server(monkeypatch) as server:
        yield server


class Small(BaseChatModel):
    """A small model that says no, and tells that it was asked."""

    asked: Any = None
    calls: list[int] = []  # noqa: RUF012  # a pydantic field

    @property
    def _llm_type(self) -> str:
        return "small"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        self.calls.append(1)
        self.asked.set()
        return ChatResult(generations=[ChatGeneration(message=AIMessage("no"))])


class Waiting(Embeddings):
    """Embeds once the small model was asked, or gives up waiting."""

    def __init__(self, real: Embeddings, asked: threading.Event) -> None:
        self.real, self.asked = real, asked
        self.met: list[bool] = []

    def embed_query(self, text: str) -> list[float]:
        if "quasar" in text:  # not the probe of the dimensions
            self.met.append(self.asked.wait(10))
        return self.real.embed_query(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.real.embed_documents(texts)


def ask_small(monkeypatch: pytest.MonkeyPatch) -> Small:
    monkeypatch.setattr(node, "_process_answers", Answers(512))
    small = Small(asked=threading.Event(), calls=[])

    async def router_model(*_: Any) -> Small:
        return small

    monkeypatch.setattr(ChatModels, "router", router_model)
    return small


async def nodes_of(graph: Any, text: str, **context: Any) -> list[str]:
    updates = graph.astream(
        {"messages": [("user", text)]}, thread(), context={"user_id": "ada", **context}, stream_mode="updates"
    )
    return [name async for update in updates for name in update]


async def test_the_small_model_is_asked_while_memory_is_searched(
    reopen: Callable[..., open_graph], embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ask_small(monkeypatch)
    waiting = Waiting(embeddings, small.asked)
    async with reopen(embeddings=waiting) as graph:
        state = await say(graph, "What is a quasar?", web_search="auto", slm_model="small")
    assert waiting.met == [True]
    assert state["search"].decided_by == "slm"
    assert len(small.calls) == 1
    assert not node._begun


def test_under_sync_invoke_as_well(reopen: Callable[..., open_graph], monkeypatch: pytest.MonkeyPatch) -> None:
    small = ask_small(monkeypatch)
    with reopen() as graph:
        context = {"user_id": "ada", "web_search": "auto", "slm_model": "small"}
        question = {"messages": [("user", "What is a quasar?")]}
        state = graph.invoke(question, thread(), context=context, output_keys=EVERYTHING)
    assert (state["search"].decided_by, len(small.calls)) == ("slm", 1)


@pytest.mark.parametrize("text", ["Thank you!", "Translate 'dog' into French", "Do not search the web: who won?"])
async def test_where_words_decide_neither_router_nor_small_model_runs(
    text: str, reopen: Callable[..., open_graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ask_small(monkeypatch)
    async with reopen() as graph:
        ran = await nodes_of(graph, text, web_search="auto", slm_model="small")
    assert "keyword_check" in ran
    assert "slm_router" not in ran
    assert "web_search" not in ran
    assert small.calls == []


@pytest.mark.parametrize("more", ["", " What is the weather in Bergen today?"])
async def test_what_is_to_be_forgotten_is_told_to_no_search_engine_and_no_small_model(
    more: str, reopen: Callable[..., open_graph], server: Server, echo: EchoModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ask_small(monkeypatch)
    async with reopen(model=echo, engines=engines_of(server)) as graph:
        await say(graph, "My clinic is in the Canaryville road.", web_search="off")
        asked = {"web_search": "always", "search_engines": ("brave",), "slm_model": "small", "redact_queries": False}
        state = await say(graph, f"Forget that my clinic is in the Canaryville road.{more}", **asked)
    assert state["search"].reason == "The user asks to forget something."
    assert (server.asked, small.calls) == ([], [])


@pytest.mark.parametrize("slm", [None, "small"])
async def test_nor_by_a_follow_up_to_the_request(
    slm: str | None, reopen: Callable[..., open_graph], server: Server, echo: EchoModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request stays in the conversation for people to see: what a later question means is not read from it."""
    small = ask_small(monkeypatch)
    asked = {"web_search": "auto", "search_engines": ("brave",), "slm_model": slm, "redact_queries": False}
    async with reopen(model=echo, engines=engines_of(server)) as graph:
        await say(graph, "My clinic is called Canaryville.", web_search="off")
        await say(graph, "Forget that my clinic is called Canaryville.", web_search="off")
        await say(graph, "Search the web: is it open today?", **asked)
        await say(graph, "And when does it close?", **{**asked, "web_search": "always"})
    sent = str([server.requests("brave"), small.calls])
    assert "close" in sent
    assert "Canaryville" not in sent


async def test_a_follow_up_is_searched_for_by_what_it_means_and_without_what_is_private(
    reopen: Callable[..., open_graph], server: Server, echo: EchoModel
) -> None:
    async with reopen(model=echo, engines=engines_of(server)) as graph:
        await say(graph, "Who is Ada Lovelace? Write to me at bob@example.com", web_search="off")
        question = "Search the web: when was she born?"
        state = await say(graph, question, web_search="auto", search_engines=("brave",))
    (asked,) = server.requests("brave")
    assert asked["q"] == state["search"].sent == "Search the web: when was she born? Ada Lovelace"
    assert "example" not in asked["q"]
