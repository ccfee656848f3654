"""Behind PgBouncer in transaction mode: no session keeps anything, whichever connection a transaction gets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
from conversation import EchoModel, counting_model, say, thread
from langchain_core.embeddings import Embeddings
from pydantic import SecretStr
from schemas import Schemas

from bench.pgbouncer import pgbouncer
from everthread import Settings, StorageError, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.maintenance.doctor import examine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pooler(server_url: str) -> Iterator[str]:
    """The URL of a PgBouncer in front of the session's server."""
    try:
        with pgbouncer(server_url) as url:
            yield url
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture
def pooled(settings: Settings, pooler: str) -> Settings:
    """Settings on this test's schema, through PgBouncer."""
    return settings.but(database_url=SecretStr(pooler), prepare_statements=False)


@pytest.fixture
async def talk(pooled: Settings, embeddings: Embeddings) -> AsyncIterator[CompiledConversation]:
    async with open_graph(pooled, model=counting_model(), embeddings=embeddings) as opened:
        yield opened


@pytest.fixture
def second(schemas: Schemas) -> Iterator[str]:
    """Another schema with all tables."""
    with schemas.migrated() as name:
        yield name


def rows_of(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement.encode()).fetchall()


async def test_a_new_schema_is_made_and_no_turn_of_many_at_once_fails(
    pooled: Settings, embeddings: Embeddings, new_schema: str
) -> None:
    """Reviewed: 9 of 37 turns failed, as their statements ran in another schema."""
    fresh = pooled.but(database_schema=new_schema, profile="sliding_summary")
    async with open_graph(fresh, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:

        async def turns(to: str) -> None:
            for n in range(8):
                state = await say(graph, f"Remark {n} about the garden.", to=to)
                assert state["after_reply"].error is None

        await asyncio.gather(*(turns(f"t{n}") for n in range(5)))
        await graph.asettled()  # type: ignore[attr-defined]
        for n in range(5):
            assert len(await graph.resources.of_user("ada").archive.messages(f"t{n}")) == 16  # type: ignore[attr-defined]
            assert (await examine(graph, "ada", f"t{n}"))[0].findings == ()


async def test_of_two_schemas_nothing_is_written_into_the_others(
    pooled: Settings, embeddings: Embeddings, second: str, server_url: str, talk: CompiledConversation
) -> None:
    """Reviewed: 19 messages of one process were written into the schema of the other."""
    elsewhere = pooled.but(database_schema=second)
    async with open_graph(elsewhere, model=EchoModel(prompts=[]), embeddings=embeddings) as other:

        async def turns(graph: CompiledConversation, to: str) -> None:
            for n in range(6):
                await say(graph, f"Remark {n}.", to=to)

        await asyncio.gather(*(turns(talk, f"first-{n}") for n in range(3)), turns(other, "second"))
        await asyncio.gather(talk.asettled(), other.asettled())  # type: ignore[attr-defined]
    for schema, prefix in ((pooled.database_schema, "first"), (second, "second")):
        for table in ("messages", "threads", "checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            statement = f"SELECT DISTINCT split_part(thread_id, '-', 1) FROM \"{schema}\".{table}"
            assert rows_of(server_url, statement) in ([(prefix,)], []), (schema, table)
        count = rows_of(server_url, f'SELECT count(*) FROM "{schema}".messages')
        assert count == [(36 if prefix == "first" else 12,)]


async def test_no_session_is_told_anything(talk: CompiledConversation, pooler: str) -> None:
    await say(talk, "Remember the milk.")
    await talk.asettled()  # type: ignore[attr-defined]
    told = "SELECT name FROM pg_settings WHERE name = ANY(%s) AND source = 'session'"
    names = ["search_path", "role", "synchronous_commit", "everthread.user_id", "everthread.across_users"]
    for _ in range(8):
        with psycopg.connect(pooler, prepare_threshold=None) as connection:
            assert connection.execute(told, (names,)).fetchall() == []
            assert connection.execute("SELECT * FROM pg_prepared_statements").fetchall() == []
            assert connection.execute("SELECT * FROM pg_locks WHERE locktype = 'advisory'").fetchall() == []


async def test_two_processes_behind_it_take_turns_in_a_thread(
    talk: CompiledConversation, pooled: Settings, embeddings: Embeddings
) -> None:
    """Reviewed: of 14 archived messages 9 were reached, as turns waited only for those of their own process."""
    async with open_graph(pooled, model=EchoModel(prompts=[]), embeddings=embeddings) as other:

        async def turns(graph: CompiledConversation, who: str) -> None:
            for n in range(4):
                await say(graph, f"Remark {n} of {who}.")

        await asyncio.gather(turns(talk, "one"), turns(other, "two"))
        state = (await talk.aget_state(thread())).values
        assert len(state["messages"]) == 16
        assert (await examine(talk, "ada", "t1"))[0].findings == ()


async def test_the_checkpoints_of_a_thread_are_pruned_copied_and_deleted(talk: CompiledConversation) -> None:
    for n in range(3):
        state = await say(talk, f"Remark {n}.")
    saver: Any = talk.checkpointer
    await saver.aprune(["t1"])
    await saver.acopy_thread("t1", "t2")
    for copied in ("t1", "t2"):
        assert (await talk.aget_state(thread(copied))).values["messages"] == state["messages"]
    assert len([found async for found in saver.alist(thread())]) == 1
    await saver.adelete_thread("t1")
    assert [found async for found in saver.alist(thread())] == []


async def test_where_the_setting_was_forgotten_the_error_names_it(pooled: Settings, embeddings: Embeddings) -> None:
    forgotten = pooled.but(prepare_statements=True)

    async def talk() -> None:
        async with open_graph(forgotten, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
            for n in range(20):
                state = await say(graph, f"Remark {n}.")
                if error := state["after_reply"].error or state["recall"].error:
                    raise StorageError(error)

    with pytest.raises(StorageError, match=r"PgBouncer.*EVERTHREAD_PREPARE_STATEMENTS=false"):
        await talk()
