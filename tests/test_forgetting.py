"""What is forgotten is gone wherever it stood: a canary, in all three storages, down to the bytes of their files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from conversation import EchoModel, say
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from everthread import Settings, open_graph
from everthread.graph.conversation import Conversation
from everthread.maintenance.proof import prove
from everthread.maintenance.transfer import export_rows
from everthread.runtime import forget as forgetting
from everthread.state.search_records import SearchResult

CANARY = "Canaryville7731"
SAID = f"I live in {CANARY} by the sea."


class Parrot(EchoModel):
    """A chat model that repeats what the user said about their home, in whatever thread it is asked."""

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        asked = messages[-1].text
        told = f"You told me: {SAID}" if "Where do I live" in asked or CANARY in asked else f"Noted: {asked[-80:]}"
        return ChatResult(generations=[ChatGeneration(message=AIMessage(told))])


class Search:
    """A search engine that finds pages which quote the query."""

    name = "canned"

    def available(self) -> bool:
        return True

    async def search(self, query: str, limit: int, seconds: float) -> Any:
        return [SearchResult(title="A page", url="https://example.org", content=f"About {query}.", engine="canned")]


@pytest.fixture(params=["postgres", "sqlite", "json"])
def stored(request: pytest.FixtureRequest, data_dir: Path, tmp_path: Path) -> Settings:
    """Settings of each storage; the embedded server is the session's, with all its files."""
    folder, schema = tmp_path, "everthread"
    if request.param == "postgres":
        folder, schema = data_dir, request.getfixturevalue("schema")
    return Settings(
        database_url=request.param, data_dir=folder, database_schema=schema, web_search="off", n_sum=4, sum_window=2,
        summary_model="extractive", embedding_model="words", search_engines=("canned",),
    )  # fmt: skip


@pytest.fixture
async def talk(stored: Settings, embeddings: Embeddings) -> AsyncIterator[Conversation]:
    async with open_graph(
        stored, model=Parrot(prompts=[]), embeddings=embeddings, engines={"canned": Search()}
    ) as opened:
        assert isinstance(opened, Conversation)
        yield opened


async def spread(graph: Conversation) -> str:
    """Say the canary, and let it be summarized, embedded, searched for, quoted, pinned; returns its id."""
    for n in range(3):
        await say(graph, f"Before {n}: the bus to the harbour number {n} was late again today.")
    state = await say(graph, SAID)
    id_ = next(m.id for m in reversed(state["messages"]) if m.type == "human")
    await say(graph, f"Please search the web for the ferry to {CANARY}.", web_search="auto")
    await say(graph, f"Remember that {CANARY} has no station.")
    for n in range(6):
        await say(graph, f"After {n}: we talked about the garden and the tomatoes of row {n}.")
    await graph.asettled()
    await say(graph, "Where do I live?", to="t2")
    await graph.asettled()
    return str(id_)


def folder_of(graph: Conversation) -> Path:
    folder = graph.resources.settings.data_dir
    assert folder is not None
    return folder


def holding(folder: Path) -> list[str]:
    """The files of a storage that hold the canary: looked at beside the code that is tested."""
    files = (file for file in folder.rglob("*") if file.is_file() and "bin-" not in str(file))
    return [file.name for file in files if CANARY.encode() in file.read_bytes()]


async def test_the_bytes_of_what_is_forgotten_are_nowhere(talk: Conversation, tmp_path: Path) -> None:
    await spread(talk)
    storage, user = talk.resources.database, talk.resources.of_user("ada")
    said = [m for t in ("t1", "t2") for m in await user.archive.messages(t) if CANARY in m.text]
    assert {m.thread_id for m in said} == {"t1", "t2"}
    assert any(CANARY in s.content for s in await user.archive.summaries("t1"))
    asked = [m.id for m in said if m.thread_id == "t1" and m.role == "user"]
    wanted = await forgetting.some_messages(user, "t1", asked)
    needles = await forgetting.needles(user, wanted)
    assert CANARY in needles.texts
    before = await user.archive.known_count("t1")
    there = await prove(storage, needles)
    assert any("messages" in place for place in there.remains), there
    gone = await forgetting.forget(user, wanted, asked_by="program", locks=talk.resources.locks)
    assert gone.messages >= 6  # three that were said, and the replies that repeat them
    assert gone.rewritten
    assert gone.facts
    assert gone.reports
    assert await user.archive.known_count("t1") < before

    proof = await prove(storage, needles)
    assert proof.remains == (), proof
    assert await asyncio.to_thread(holding, folder_of(talk)) == []
    exported = tmp_path / "all.jsonl"
    await export_rows(user.rows, exported, written=lambda *_: None)
    assert CANARY not in await asyncio.to_thread(exported.read_text)
    state = await say(talk, "Which bus was late?")
    assert CANARY not in str(state["messages"][:-2])
    assert [row["kind"] for row in await forgetting.records(user.rows)] == ["messages"]
