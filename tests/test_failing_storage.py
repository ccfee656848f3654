"""Storage that fails once the model was paid: the reply is handed over, told as not kept yet, and kept later, once."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from conversation import EchoModel, open_with, say, thread
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from bench.server_folder import stop_server
from everthread import Settings, StorageError, open_graph
from everthread.maintenance.doctor import examine
from everthread.runtime.away import AWAY
from everthread.state.errors import StorageFull, StorageUnreachable, ThreadOwnershipError
from everthread.storage.embedded.server import ensure_server
from everthread.storage.sqlite.database import SqliteDatabase


class FailsMeanwhile(EchoModel):
    """A chat model during whose reply the storage begins to fail."""

    fail: Any = None

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        reply = super()._generate(messages, *args, **options)
        if self.fail is not None:
            self.fail()
            self.fail = None
        return reply


@pytest.fixture
def embeddings() -> DeterministicFakeEmbedding:
    return DeterministicFakeEmbedding(size=8)


async def kept(graph: Any) -> list[str]:
    return [message.text for message in await graph.resources.of_user("ada").archive.messages("t1")]


LONG = "Two." + " And more." * 2_000
ON = ["Three.", "You said: Three.", "Four.", "You said: Four."]
SAID = ["One.", "You said: One.", LONG, f"You said: {LONG[-200:]}", *ON, "Five.", "You said: Five."]


async def check(opened: Callable[..., open_graph], model: FailsMeanwhile, fail: Any, mend: Any) -> None:
    """A turn in which storage begins to fail, two that go on without it, and one when it was mended."""
    async with opened(model=model) as graph:
        await say(graph, "One.")
        model.fail = fail
        state = await say(graph, LONG)
        assert state["messages"][-1].content == SAID[3]
        assert "not kept yet" in state["after_reply"].error
        assert any("not kept yet" in sentence for sentence in state["report"]["degraded"])
        with pytest.raises(StorageError, match=r"does not hold thread 'unknown'|cannot be used"):
            await say(graph, LONG, to="unknown")
        asked = len(model.prompts)
        with pytest.raises((StorageError, ThreadOwnershipError)):
            await say(graph, "Another's.", user="eve")
        with pytest.raises(StorageUnreachable, match="only a new message can be answered"):
            await say(graph, "/summary_off")
        assert len(model.prompts) == asked  # refused before anything is paid
        for n, question in ((5, ON[0]), (7, ON[2])):
            parts = [part async for part in streamed(graph, question)]
            assert {"everthread": "away"} in parts
            state = (await graph.aget_state(thread())).values
            assert [message.content for message in state["messages"]] == SAID[: n + 1]
            assert AWAY in state["report"]["degraded"]
            assert [m.text for m in model.prompts[-1] if m.type == "human"][-1] == question
        assert any(SAID[0] in message.text for message in model.prompts[-1])  # it is shown what was said before
        if (mended := mend()) is not None and hasattr(mended, "__await__"):
            await mended
        assert [m.content for m in (await graph.aget_state(thread())).values["messages"]] == SAID[:8]
        async with asyncio.timeout(120):
            while await kept(graph) != SAID[:8]:  # nobody has to ask for it
                await asyncio.sleep(0.1)
        state = await say(graph, SAID[8], max_memories=0)  # the reply says what stands last in the prompt
        assert state["after_reply"].error is None
        assert not state["report"].get("degraded")
        assert await kept(graph) == SAID
        reports = graph.resources.of_user("ada").reports
        assert await reports.last_turn("t1") == state["report"]["turn"] == 5
        assert AWAY in (await reports.find("t1", 4))["degraded"]
        assert (await examine(graph, "ada", "t1"))[0].findings == ()
    async with opened() as graph:
        assert [m.content for m in (await graph.aget_state(thread())).values["messages"]] == SAID
        history = [snapshot async for snapshot in graph.aget_state_history(thread())]
        assert len({len(snapshot.values.get("messages", ())) for snapshot in history}) >= 6


async def streamed(graph: Any, text: str) -> AsyncIterator[Any]:
    question = {"messages": [("user", text)]}
    async for part in graph.astream(question, thread(), context={"user_id": "ada"}, stream_mode="custom"):
        yield part


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """What is open to a file of SQLite."""
    opened, begin = [], SqliteDatabase._begin_with

    def begin_with(self: SqliteDatabase, connection: sqlite3.Connection) -> None:
        opened.append(connection)
        begin(self, connection)

    monkeypatch.setattr(SqliteDatabase, "_begin_with", begin_with)
    return opened


async def test_sqlite_that_takes_no_writes_any_more(
    settings: Settings, tmp_path: Path, embeddings: Any, connections: list[sqlite3.Connection]
) -> None:
    def opened(**values: Any) -> open_graph:
        own = settings.but(database_url="sqlite", data_dir=tmp_path)
        return open_with(own, **{"model": EchoModel(prompts=[]), "embeddings": embeddings, **values})

    def set_to(mode: str) -> Callable[[], Any]:
        return lambda: connections[0].execute(f"PRAGMA query_only = {mode}")

    await check(opened, FailsMeanwhile(prompts=[]), set_to("ON"), set_to("OFF"))


async def test_a_full_disk_keeps_the_reply_and_refuses_what_follows_until_there_is_room(
    settings: Settings, tmp_path: Path, embeddings: Any, connections: list[sqlite3.Connection]
) -> None:
    """It does not pass by itself: what went on meanwhile would stand in the memory of the process alone."""

    def fill() -> None:
        connections[0].execute("PRAGMA max_page_count = 1")
        with contextlib.suppress(sqlite3.Error):
            while True:  # what is free inside of the file is taken
                connections[0].execute("INSERT INTO search_cache VALUES (randomblob(9), randomblob(100), '2026')")

    own, model = settings.but(database_url="sqlite", data_dir=tmp_path), FailsMeanwhile(prompts=[])
    async with open_with(own, model=model, embeddings=embeddings) as graph:
        await say(graph, "One.")
        model.fail = fill
        state = await say(graph, LONG)
        assert state["messages"][-1].content == SAID[3]
        assert "not kept yet" in state["after_reply"].error
        asked = len(model.prompts)
        with pytest.raises(StorageFull, match=r"disk is full.*Free some space"):
            await say(graph, ON[0])
        assert len(model.prompts) == asked
        state = await say(graph, ON[0], profile="archive")  # seed 003: it goes on in memory, and says so
        assert AWAY in state["report"]["degraded"]
        connections[0].execute("PRAGMA max_page_count = 1000000")
        assert (await say(graph, ON[2]))["after_reply"].error is None
        assert await kept(graph) == SAID[:8]


@pytest.mark.slow
async def test_postgres_that_is_stopped_while_the_model_answers(
    settings: Settings, own_server: Path, embeddings: Any
) -> None:
    url = await asyncio.to_thread(ensure_server, own_server)
    model = FailsMeanwhile(prompts=[])

    def opened(**values: Any) -> open_graph:
        own = settings.but(database_url=url, database_schema="everthread")
        return open_with(own, **{"model": EchoModel(prompts=[]), "embeddings": embeddings, **values})

    def start() -> None:
        assert ensure_server(own_server) == url

    await check(opened, model, lambda: stop_server(own_server), lambda: asyncio.to_thread(start))
