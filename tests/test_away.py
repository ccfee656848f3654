"""A worker whose storage does not answer goes on with what it holds; what it said is written once, behind others."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conversation import EchoModel, open_with, say, thread
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.types import interrupt
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from everthread import Settings, open_graph
from everthread.graph import in_turn
from everthread.maintenance.doctor import examine
from everthread.runtime.away import AWAY
from everthread.state.errors import StorageUnreachable
from everthread.state.messages import STOPPED_KEY
from everthread.storage.postgres import server as postgres_server
from everthread.storage.postgres.database import Database
from everthread.storage.sqlite import database as sqlite_database

NOWHERE = "postgresql://nobody@127.0.0.1:9/postgres"


@pytest.fixture
async def cut_off(graph: Any) -> AsyncIterator[tuple[Callable[[], Awaitable[None]], Callable[[], None]]]:
    """Take the network from the worker of `graph`, and give it back."""
    database: Database = graph.resources.database
    url = database.server.url

    async def nowhere() -> str:
        return NOWHERE

    async def cut() -> None:
        database.server.url = nowhere  # type: ignore[method-assign]
        await database.close()

    def mend() -> None:
        database.server.url = url  # type: ignore[method-assign]

    yield cut, mend
    mend()


def texts(state: Any) -> list[str]:
    return [message.text for message in state["messages"]]


async def kept(graph: Any, to: str = "t1") -> list[str]:
    return [message.text for message in await graph.resources.of_user("ada").archive.messages(to)]


async def until_written(graph: Any) -> None:
    async with asyncio.timeout(120):
        while graph.resources.away.count:
            await asyncio.sleep(0.05)


async def test_what_others_said_meanwhile_is_noticed_and_stands_before(
    graph: Any, reopen: Callable[..., open_graph], cut_off: Any
) -> None:
    cut, mend = cut_off
    async with reopen() as other:
        await say(graph, "One.")
        await cut()
        await say(graph, "Two, alone.")
        await say(other, "Two, elsewhere.")
        await say(graph, "Three, alone.")
        assert len(texts((await graph.aget_state(thread())).values)) == 6
        assert len(await kept(other)) == 4
        mend()
        await until_written(graph)
        said = [text for text in await kept(other) if not text.startswith("You said")]
        assert said == ["One.", "Two, elsewhere.", "Two, alone.", "Three, alone."]
        state = (await other.aget_state(thread())).values
        assert texts(state) == await kept(other) == texts((await graph.aget_state(thread())).values)
        assert (await examine(other, "ada", "t1"))[0].findings == ()
        assert len(texts(await say(other, "Four."))) == 10


async def test_what_others_said_that_comes_in_during_such_a_turn_does_not_stand_for_it(
    graph: Any, reopen: Callable[..., open_graph], cut_off: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The storage answers again while the turn runs, which takes what others said for its own, and as answered."""
    cut, mend = cut_off
    at_hand = in_turn._at_hand

    def answers_again(*given: Any) -> Any:
        run = at_hand(*given)
        mend()
        return run

    monkeypatch.setattr(in_turn, "_at_hand", answers_again)
    async with reopen() as other:
        await say(graph, "One.")
        await say(other, "Two, elsewhere.")
        await cut()
        await say(graph, "Two, alone.")
        await until_written(graph)
        said = [text for text in await kept(other) if not text.startswith("You said")]
        assert said == ["One.", "Two, elsewhere.", "Two, alone."]


async def test_a_turn_of_a_server_without_authentication_is_written(graph: Any, cut_off: Any) -> None:
    """Such a server puts an empty `user_id` into each run, which is nobody's name."""
    cut, mend = cut_off
    served = {"configurable": {"thread_id": "t1", "assistant_id": "a", "graph_id": "everthread", "user_id": ""}}
    await say(graph, "One.")
    await cut()
    await graph.ainvoke({"messages": [("user", "Two, alone.")]}, served, context={"user_id": "ada"})
    mend()
    await until_written(graph)
    assert [text for text in await kept(graph) if not text.startswith("You said")] == ["One.", "Two, alone."]


async def test_a_turn_right_after_it_answers_again_finds_all_in_its_place(graph: Any, cut_off: Any) -> None:
    cut, mend = cut_off
    await say(graph, "One.")
    await cut()
    await say(graph, "Two.")
    mend()
    state = await say(graph, "Three.")
    assert [text for text in texts(state) if not text.startswith("You said")] == ["One.", "Two.", "Three."]
    assert texts(state) == await kept(graph)
    assert state["report"].get("degraded") in (None, [])


@pytest.mark.slow
async def test_a_server_that_falls_silent_is_waited_for_once_and_then_tried_beside_the_turns(
    settings: Settings, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_server, "_CONNECT_SECONDS", 60)
    assert settings.database_url is not None
    url, ways, is_silent = settings.database_url.get_secret_value(), [], False
    socket = f"{conninfo_to_dict(url)['host']}/.s.PGSQL.5432"

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()

    async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ways.append(writer)
        if not is_silent:
            there_reader, there = await asyncio.open_unix_connection(socket)
            await asyncio.gather(forward(reader, there), forward(there_reader, writer), return_exceptions=True)

    between_them = await asyncio.start_server(between, "127.0.0.1", 0)
    host, port = between_them.sockets[0].getsockname()
    own = settings.but(database_url=make_conninfo(url, host=host, port=port))
    async with open_with(own, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        await say(graph, "One.")
        await graph.asettled()
        is_silent = True
        for way in ways:
            way.close()
        took = []
        for n in range(3):
            started = time.monotonic()
            assert AWAY in (await say(graph, f"More {n}."))["report"]["degraded"]
            took.append(time.monotonic() - started)
        assert took[0] < 60 / 2
        assert max(took[1:]) < took[0]
        is_silent = False
        for way in ways:
            way.close()
        await until_written(graph)
        assert len(await kept(graph)) == 8
    between_them.close()


async def test_the_operator_may_have_such_turns_refused(
    graph: Any, settings: Settings, embeddings: Embeddings, cut_off: Any
) -> None:
    cut, _ = cut_off
    strict = settings.but(turns="away=refuse")
    graph.resources.settings = strict
    await say(graph, "One.")
    await cut()
    with pytest.raises(StorageUnreachable, match="cannot be reached"):
        await say(graph, "Two.")
    assert not graph.resources.away.count


async def test_the_same_message_sent_again_is_answered_once(graph: Any, echo: EchoModel, cut_off: Any) -> None:
    cut, mend = cut_off
    await say(graph, "One.")
    await cut()
    question = {"messages": [{"role": "user", "content": "Two.", "id": "q2"}]}
    first = await say(graph, question)
    again = await say(graph, question)
    assert texts(again) == texts(first)
    assert len(echo.prompts) == 2
    mend()
    await until_written(graph)
    assert texts(await say(graph, question)) == texts(first) == await kept(graph)
    assert len(echo.prompts) == 2


async def test_what_is_asked_to_be_forgotten_meanwhile_is_forgotten_when_it_is_written(
    graph: Any, cut_off: Any
) -> None:
    cut, mend = cut_off
    await say(graph, "I live in Oslo.")
    await cut()
    await say(graph, "Forget that I live in Oslo.")
    mend()
    await until_written(graph)
    assert not [text for text in await kept(graph) if "Oslo" in text]


class Streams(EchoModel):
    """A chat model that says three words, and stops in between until it may go on."""

    go: Any = None

    async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for word in ("One ", "two ", "three"):
            yield ChatGenerationChunk(message=AIMessageChunk(word))
            if self.go is not None and word == "two ":
                await self.go.wait()


async def test_a_reply_that_is_stopped_meanwhile_is_kept_as_far_as_it_was_shown(
    reopen: Callable[..., open_graph],
) -> None:
    model = Streams(prompts=[])
    async with reopen(model=model) as graph:
        await say(graph, "Count.")
        database: Any = graph.resources.database
        url = database.server.url
        database.server.url = _nowhere
        await database.close()
        model.go = asyncio.Event()
        question: Any = {"messages": [("user", "Again.")]}
        parts = graph.astream(question, thread(), context={"user_id": "ada"}, stream_mode="messages")
        seen = ""
        async for message, _ in parts:
            seen += str(message.content)
            if seen.endswith("two "):
                break
        await parts.aclose()  # type: ignore[attr-defined]
        database.server.url = url
        await until_written(graph)
        state = (await graph.aget_state(thread())).values
        assert texts(state) == ["Count.", "You said: Count.", "Again.", "One two "] == await kept(graph)
        assert state["messages"][-1].response_metadata[STOPPED_KEY]


async def _nowhere() -> str:
    return NOWHERE


@tool
def ask_first(what: str) -> str:
    """Ask the user before it is done."""
    return str(interrupt({"may I?": what}))


async def test_what_would_wait_for_an_answer_is_refused_meanwhile(reopen: Callable[..., open_graph]) -> None:
    """A turn that stops in the middle could not be gone on with from anywhere else."""

    class Calls(EchoModel):
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            made = super()._generate(messages)
            if messages[-1].text.endswith("Do it."):
                made.generations[0].message.tool_calls = [{"name": "ask_first", "args": {"what": "it"}, "id": "c1"}]
            return made

    async with reopen(model=Calls(prompts=[]), tools=[ask_first]) as graph:
        await say(graph, "One.")
        database: Any = graph.resources.database
        url = database.server.url
        database.server.url = _nowhere
        await database.close()
        with pytest.raises(StorageUnreachable):
            await say(graph, "Do it.")
        database.server.url = url
        assert len(texts(await say(graph, "Two."))) == 4


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process that writes and does not come to its end."""
    begun, done = threading.Event(), threading.Event()

    def write() -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        begun.set()
        done.wait()
        connection.execute("ROLLBACK")
        connection.close()

    writing = threading.Thread(target=write)
    writing.start()
    begun.wait()
    try:
        yield
    finally:
        done.set()
        writing.join()


async def test_a_file_of_sqlite_that_another_process_does_not_let_go(
    settings: Settings, tmp_path: Path, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_database, "_BUSY_SECONDS", 0.5)
    own = settings.but(database_url="sqlite", data_dir=tmp_path)
    async with open_with(own, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        await say(graph, "One.")
        await graph.asettled()
        with locked(tmp_path / "memory.db"):
            for text in ("Two.", "Three."):
                state = await say(graph, text)
                told = state["report"]["degraded"]
                assert any(line == AWAY or "is not kept yet" in line for line in told)
            with pytest.raises(StorageUnreachable, match="Another process has been writing"):
                await say(graph, "Unknown.", to="another")
        await until_written(graph)
        assert await kept(graph) == texts(state)
        assert len(texts(state)) == 6
        assert texts((await graph.aget_state(thread())).values) == texts(state)
