"""LangGraph will refuse types in checkpoints that nobody told it of: none is ours, whatever keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from conversation import BrokenModel, counting_model, say, thread
from fake_web import engines_of, lone_server
from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.event_hooks import register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg.conninfo import make_conninfo

from everthread.graph.build import build_graph
from everthread.graph.open import open_graph
from everthread.settings.settings import Settings
from everthread.state.errors import EverthreadError, ModelError, StorageError
from everthread.state.records import Recall, now
from everthread.state.report_records import Progress
from everthread.storage.message_serializer import MessageSerializer


@pytest.fixture
def unregistered() -> Iterator[list[str]]:
    """The types that a checkpoint was read with, and of which LangGraph knows nothing."""
    met: list[str] = []
    stop = register_serde_event_listener(lambda event: met.append(f"{event['module']}.{event['name']}"))
    yield met
    stop()


@pytest.fixture(autouse=True)
def outside_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors have this in a served process alone, which tests before these may have made of this one."""
    monkeypatch.delattr(EverthreadError, "model_dump", raising=False)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with lone_server(monkeypatch) as server:
        yield engines_of(server)


async def talk(graph: Any, *, is_broken: bool) -> None:
    """Turns that search the web and are summarized; or one that fails, and is looked at."""
    if is_broken:
        with pytest.raises(ModelError):
            await say(graph, "And this?")
    else:
        for turn in range(8):
            await say(graph, f"What of ants, {turn}?", web_search="always", search_engines=("brave",))
    assert (await graph.aget_state(thread())).values["messages"]
    assert [state async for state in graph.aget_state_history(thread())]


@pytest.mark.parametrize("kind", ["postgres", "sqlite", "json", "in memory", "LangGraph's Postgres"])
async def test_what_turns_leave_is_read_without_a_warning(
    kind: str, settings: Settings, tmp_path: Path, engines: Any, embeddings: Embeddings, unregistered: list[str]
) -> None:
    if kind in {"sqlite", "json"}:
        settings = settings.but(database_url=kind, data_dir=tmp_path)
    ones_own: Any = InMemorySaver() if kind == "in memory" else None
    for is_broken in (False, True, False):
        components: Any = {
            "model": BrokenModel(prompts=[]) if is_broken else counting_model(),
            "embeddings": embeddings,
            "engines": engines,
        }
        async with AsyncExitStack() as opened:
            if kind == "LangGraph's Postgres":
                options = f"-c search_path={settings.database_schema},public"
                url = make_conninfo(settings.database_url.get_secret_value(), options=options)
                ones_own = await opened.enter_async_context(AsyncPostgresSaver.from_conn_string(url))
                await ones_own.setup()
            if ones_own is None:
                graph = await opened.enter_async_context(open_graph(settings, **components))
            else:
                graph = build_graph(settings, **components).compile(checkpointer=ones_own)
            await talk(graph, is_broken=is_broken)
    assert unregistered == []


def test_what_earlier_versions_wrote_is_read_without_a_warning(unregistered: list[str]) -> None:
    class EarlierError(StorageError):
        def model_dump(self) -> dict[str, str]:
            return {"error": f"StorageError: {self}", "message": str(self)}

    EarlierError.__name__, EarlierError.__module__ = StorageError.__name__, StorageError.__module__
    stored = JsonPlusSerializer().dumps_typed(
        [
            Recall(),
            Progress(question_id="q", turn=3, started_at=now(), milliseconds={}),
            EarlierError("The disk's full."),
        ]
    )
    recall, progress, error = MessageSerializer().loads_typed(stored)
    assert (recall, progress.turn) == (Recall(), 3)
    assert error == repr(StorageError("The disk's full."))
    assert unregistered == []
