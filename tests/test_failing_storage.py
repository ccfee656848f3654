"""Storage that fails once the model was paid: the reply is handed over, told as not kept yet, and kept later, once."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conversation import EchoModel, open_with, say, thread
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from bench.server_folder import stop_server
from everthread import Settings, StorageError, open_graph
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
SAID = ["One.", "You said: One.", LONG, f"You said: {LONG[-200:]}", "Three.", "You said: Three."]


async def check(opened: Callable[..., open_graph], model: FailsMeanwhile, fail: Any, mend: Any, again: Any) -> None:
    """A turn in which storage begins to fail, one that is refused, and the next after it was mended."""
    async with opened(model=model) as graph:
        await say(graph, "One.")
        model.fail = fail
        state = await say(graph, LONG)
        assert state["messages"][-1].content == SAID[3]
        assert "not kept yet" in state["after_reply"].error
        assert any("not kept yet" in sentence for sentence in state["report"]["degraded"])
        asked = len(model.prompts)
        with pytest.raises(StorageError):
            await say(graph, "Refused before anything is paid.")
        assert len(model.prompts) == asked
        if (mended := mend()) is not None and hasattr(mended, "__await__"):
            await mended
        assert [m.content for m in (await graph.aget_state(thread())).values["messages"]] == SAID[:4]
        state = await say(graph, "Three.")
        assert state["after_reply"].error is None
        assert not state["report"].get("degraded")
        assert await kept(graph) == SAID
    async with again() as graph:
        assert [m.content for m in (await graph.aget_state(thread())).values["messages"]] == SAID
        history = [snapshot async for snapshot in graph.aget_state_history(thread())]
        assert len({len(snapshot.values.get("messages", ())) for snapshot in history}) >= 6


@pytest.mark.parametrize(
    ("fails", "works"),
    [("query_only = ON", "query_only = OFF"), ("max_page_count = 1", "max_page_count = 1000000")],
    ids=["read-only", "full disk"],
)
async def test_sqlite_that_takes_no_writes_any_more(
    settings: Settings, tmp_path: Path, embeddings: Any, fails: str, works: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself refuses: a file may not grow (SQLITE_FULL), or is read-only (SQLITE_READONLY)."""
    model, connections, begin = FailsMeanwhile(prompts=[]), [], SqliteDatabase._begin_with

    def begin_with(self: SqliteDatabase, connection: sqlite3.Connection) -> None:
        connections.append(connection)
        begin(self, connection)

    def opened(**values: Any) -> open_graph:
        own = settings.but(database_url="sqlite", data_dir=tmp_path)
        return open_with(own, **{"model": EchoModel(prompts=[]), "embeddings": embeddings, **values})

    def fill() -> None:
        with contextlib.suppress(sqlite3.Error):
            while True:  # what is free inside of the file is taken
                connections[0].execute("INSERT INTO search_cache VALUES (randomblob(9), randomblob(100), '2026')")

    monkeypatch.setattr(SqliteDatabase, "_begin_with", begin_with)

    def fail() -> None:
        connections[0].execute(f"PRAGMA {fails}")
        fill()

    await check(opened, model, fail, lambda: connections[0].execute(f"PRAGMA {works}"), opened)


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

    await check(opened, model, lambda: stop_server(own_server), lambda: asyncio.to_thread(start), opened)
