"""The checkpointer: conformance, bounded growth, pruning, lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from conversation import EchoModel, counting_model, say, thread
from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.conformance import checkpointer_test, validate

from everthread import Settings, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.storage.postgres.checkpointer import PostgresCheckpointer
from everthread.storage.postgres.database import Database


async def test_it_passes_the_conformance_suite_in_full(settings: Settings) -> None:
    database = Database(settings)

    @checkpointer_test(name="everthread")
    async def checkpointer() -> Any:
        yield PostgresCheckpointer(database)

    report = await validate(checkpointer)
    await database.close()
    assert report.passed_all(), report.to_dict()


def bytes_of(settings: Settings, table: str) -> int:
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.get_secret_value()) as connection:
        row = connection.execute(
            f"SELECT coalesce(sum(pg_column_size(t.*)), 0) FROM {settings.database_schema}.{table} AS t"
        ).fetchone()
    return int(row[0]) if row else 0


def stored(settings: Settings) -> int:
    return sum(bytes_of(settings, table) for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"))


@pytest.mark.slow
async def test_the_bytes_of_a_thread_do_not_grow_with_the_conversation(
    settings: Settings, embeddings: Embeddings
) -> None:
    """Reports langgraphjs #1138, deer-flow #4138: checkpoints that grew to 40 % of the database.

    They grow until the state holds `visible_messages`, and the report the memories that a prompt has room for: those of
    messages that it does not show as said. From turn to turn they go up and down with what was found and summarized.
    """
    few = settings.but(visible_messages=12)
    async with open_graph(few, model=counting_model(), embeddings=embeddings) as graph:
        sizes = []
        for n in range(170):
            await say(graph, f"Remark {n}: the garden needs water in the evening.")
            sizes.append(stored(settings))
    assert max(sizes[140:]) < max(sizes[110:140]) * 1.25


async def test_pruning_keeps_the_state(graph: CompiledConversation, settings: Settings) -> None:
    """Reports langgraph #8531, PR #6883: no prune, or one that emptied the thread."""
    for n in range(5):
        state = await say(graph, f"Remark {n}.")
    before = stored(settings)
    await graph.checkpointer.aprune(["t1"])  # type: ignore[union-attr]
    assert stored(settings) < before / 3
    assert (await graph.aget_state(thread())).values["messages"] == state["messages"]
    assert (await say(graph, "And on."))["messages"][-1].content == "You said: And on."


async def test_killed_connections_are_replaced(graph: CompiledConversation, settings: Settings) -> None:
    """Reports langgraph #7304, #3193: idle connections died, and every later turn with them."""
    await say(graph, "hello")
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    state = await say(graph, "still there?")
    assert state["after_reply"].error is None
    assert len(state["messages"]) == 4


async def test_no_connection_is_held_while_the_model_answers(settings: Settings, embeddings: Embeddings) -> None:
    """Report hindsight #3082: connections held during model calls emptied the pool.

    Five turns share a pool of one connection, and no model answers before all five have been asked.
    """
    asked, all_asked = [], asyncio.Event()

    class Patient(EchoModel):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
            asked.append(1)
            if len(asked) == 5:
                all_asked.set()
            await all_asked.wait()
            return self._generate(*args, **kwargs)

    narrow = settings.model_copy(update={"pool_size": 1})
    async with open_graph(narrow, model=Patient(prompts=[]), embeddings=embeddings) as graph, asyncio.timeout(60):
        states = await asyncio.gather(*(say(graph, "hello", to=f"t{n}") for n in range(5)))
    assert [state["after_reply"].archived for state in states] == [2] * 5


async def test_two_turns_at_once_on_one_thread_lose_nothing(
    graph: CompiledConversation, reopen: Callable[..., open_graph]
) -> None:
    """Report langgraph-redis PR #79: the last writer won, and the other's turn was gone."""
    await asyncio.gather(*(say(graph, f"Remark {n}.") for n in range(4)))
    archived = {message.text for message in await reopen().resources.of_user("ada").archive.messages("t1")}
    assert {f"Remark {n}." for n in range(4)} <= archived
    state = await say(graph, "Done.")
    assert state["messages"][-1].content == "You said: Done."
