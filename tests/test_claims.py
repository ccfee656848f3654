"""Several processes in one thread: in turn, and what a process that lost its claim still writes goes behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conversation import EchoModel, WaitingModel, say, thread
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from pydantic import SecretStr

from everthread import ClaimLostError, Settings, StorageError, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.maintenance.doctor import examine
from everthread.storage.postgres import claims
from everthread.storage.postgres.claims import PostgresLocks
from everthread.storage.postgres.database import Database

Execute = Callable[[str], list[Any]]


@pytest.fixture
def execute(settings: Settings) -> Iterator[Execute]:
    """Runs a statement on this test's schema, beside everthread."""
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:
        connection.execute(f'SET search_path TO "{settings.database_schema}", public'.encode())

        def executed(statement: str) -> list[Any]:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description is not None else []

        yield executed


@pytest.fixture
async def other(settings: Settings, embeddings: Embeddings) -> AsyncIterator[CompiledConversation]:
    """A second graph on the same storage, as another process has it."""
    async with open_graph(settings, model=EchoModel(prompts=[]), embeddings=embeddings) as opened:
        yield opened


async def archived(graph: Any, to: str = "t1") -> list[str]:
    return [message.text for message in await graph.resources.of_user("ada").archive.messages(to)]


HOW_LATE, AND_YOU = "How late is it?", "And you?"
BEHIND = [HOW_LATE, AND_YOU, f"You said: {HOW_LATE}\n\n{AND_YOU}", f"You said: {HOW_LATE}"]
"""What is said where a turn is taken over while its model answers."""


@pytest.mark.parametrize("is_sync", [False, True], ids=["async", "sync"])
async def test_a_turn_that_was_taken_over_is_put_behind_what_was_said_meanwhile(
    settings: Settings, embeddings: Embeddings, other: CompiledConversation, execute: Execute, *, is_sync: bool
) -> None:
    slow = WaitingModel(prompts=[], go=threading.Event(), begun=threading.Event())
    async with open_graph(settings, model=slow, embeddings=embeddings) as graph:
        question: Any = {"messages": [("user", HOW_LATE)]}

        def invoke() -> Any:
            return graph.invoke(question, thread(), context={"user_id": "ada"})

        late = asyncio.create_task(asyncio.to_thread(invoke) if is_sync else say(graph, HOW_LATE))
        await asyncio.to_thread(slow.begun.wait)
        # Its process stands still for longer than the claim is good.
        execute("UPDATE thread_claims SET expires_at = now() - interval '1 s'")
        state = await say(other, AND_YOU)
        assert [message.text for message in state["messages"]] == BEHIND[:3]
        slow.go.set()
        state = await late
        assert [message.text for message in state["messages"]] == BEHIND
        assert [message.text for message in (await other.aget_state(thread())).values["messages"]] == BEHIND
        assert await archived(graph) == BEHIND
        report = (await graph.aget_state(thread())).values["report"]
        assert report["context"]["tokens"] > 0
        assert report["reply"]["model"]
        assert (await examine(graph, "ada", "t1"))[0].findings == ()
        assert len((await say(other, "Go on."))["messages"]) == len(slow.prompts) + 5
        assert len(slow.prompts) == 1
    assert execute("SELECT * FROM thread_claims") == []


async def test_a_branch_that_was_taken_over_fails_clearly_and_the_other_loses_nothing(
    settings: Settings, embeddings: Embeddings, other: CompiledConversation, execute: Execute
) -> None:
    """What goes on from an earlier state would be another branch behind the newest."""
    await say(other, "One.")
    earlier = (await other.aget_state(thread())).config
    said = [message.text for message in (await say(other, "Two."))["messages"]]
    slow = WaitingModel(prompts=[], go=threading.Event(), begun=threading.Event())
    async with open_graph(settings, model=slow, embeddings=embeddings) as graph:
        question: Any = {"messages": [("user", "Rather this.")]}
        late = asyncio.create_task(graph.ainvoke(question, earlier, context={"user_id": "ada"}))
        await asyncio.to_thread(slow.begun.wait)
        execute("UPDATE thread_claims SET expires_at = now() - interval '1 s'")
        await say(other, "And you?")
        slow.go.set()
        with pytest.raises(ClaimLostError, match="Another process has gone on with thread 't1'"):
            await late
        assert set(said) <= {row.text for row in await graph.ahistory("ada", "t1", with_left=True)}  # type: ignore[attr-defined]


async def test_a_claim_that_nobody_took_over_holds_however_late_it_is(
    settings: Settings, embeddings: Embeddings, execute: Execute
) -> None:
    slow = WaitingModel(prompts=[], go=threading.Event(), begun=threading.Event())
    async with open_graph(settings, model=slow, embeddings=embeddings) as graph:
        late = asyncio.create_task(say(graph, "How late is it?"))
        await asyncio.to_thread(slow.begun.wait)
        execute("UPDATE thread_claims SET expires_at = now() - interval '1 h'")
        slow.go.set()
        assert len((await late)["messages"]) == 2
    assert execute("SELECT * FROM thread_claims") == []


@pytest.mark.slow
async def test_cut_connections_lose_no_turn_of_two_that_talk_at_once(
    settings: Settings, embeddings: Embeddings, other: CompiledConversation, execute: Execute
) -> None:
    """Reviewed: with the connection of the lock cut, 14 messages were archived and 9 of them reached."""

    class Thinking(EchoModel):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(0.3)
            return self._generate(*args, **kwargs)

    async with open_graph(settings, model=Thinking(prompts=[]), embeddings=embeddings) as graph:

        async def talk(to: CompiledConversation, who: str) -> None:
            for n in range(4):
                message = HumanMessage(f"Remark {n} of {who}.", id=f"{who}-{n}")
                while True:  # as a client does that lost its connection
                    try:
                        await say(to, {"messages": [message]})
                    except StorageError:
                        continue
                    break

        async def cut() -> None:
            while True:
                await asyncio.sleep(0.4)
                execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND application_name <> 'tests' AND state LIKE 'idle%'"
                )

        cutting = asyncio.create_task(cut())
        await asyncio.gather(talk(graph, "one"), talk(other, "two"))
        cutting.cancel()
        with suppress(asyncio.CancelledError):
            await cutting
        async with asyncio.timeout(120):
            while graph.resources.away.count or other.resources.away.count:  # a turn whose end is written later
                await asyncio.sleep(0.05)
        await say(graph, "What was not archived for lack of a connection is archived now.")
        texts = await archived(graph)
        assert len(texts) == 18
        assert [message.text for message in (await graph.aget_state(thread())).values["messages"]] == texts
        assert (await examine(graph, "ada", "t1"))[0].findings == ()


async def test_processes_take_turns_in_the_order_in_which_they_came(settings: Settings) -> None:
    """Reviewed: one process made 264 turns while another got 9."""
    greedy, modest = Database(settings), Database(settings)
    many, one = PostgresLocks(greedy), PostgresLocks(modest)
    turns: list[str] = []

    async def take(locks: PostgresLocks, name: str) -> None:
        while len(turns) < 60:
            async with locks.hold("t1"):
                turns.append(name)
                await asyncio.sleep(0.01)

    await asyncio.gather(*(take(many, "many") for _ in range(12)), take(one, "one"))
    for opened in (many, one, greedy, modest):
        await opened.close()
    assert turns.count("one") >= turns.count("many") / 2


async def test_a_claim_is_renewed_as_long_as_its_turn_runs(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, execute: Execute
) -> None:
    monkeypatch.setattr(claims, "RENEW_SECONDS", 0.1)
    first, second = Database(settings), Database(settings)
    holding, waiting = PostgresLocks(first), PostgresLocks(second)
    async with holding.hold("t1"):
        ends: set[object] = set()
        async with asyncio.timeout(60):
            while len(ends) < 3:
                ends.add(execute("SELECT expires_at FROM thread_claims")[0])
                await asyncio.sleep(0.05)
        async with waiting.try_hold("t1") as is_taken:
            assert not is_taken
    async with waiting.try_hold("t1") as is_taken:
        assert is_taken
    for opened in (holding, waiting, first, second):
        await opened.close()
    assert execute("SELECT * FROM thread_claims") == []


DIES = """
import asyncio, os
from everthread.settings.settings import Settings
from everthread.storage.postgres.claims import PostgresLocks
from everthread.storage.postgres.database import Database
async def main():
    async with PostgresLocks(Database(Settings())).hold("t1"):
        os._exit(7)
asyncio.run(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="a process of another name space cannot be seen")
async def test_the_claim_of_a_process_that_died_on_this_machine_is_taken_over_at_once(
    settings: Settings, environment: dict[str, str], execute: Execute
) -> None:
    died = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", DIES], env=environment, check=False)
    assert died.returncode == 7
    assert len(execute("SELECT * FROM thread_claims")) == 1
    database = Database(settings)
    locks, started = PostgresLocks(database), time.monotonic()
    async with locks.hold("t1"):
        assert time.monotonic() - started < claims.GOOD_SECONDS / 2
    await locks.close()
    await database.close()
    assert execute("SELECT * FROM thread_claims") == []


async def test_whoever_deletes_the_lock_of_a_file_has_the_turn_put_behind(
    settings: Settings, embeddings: Embeddings, tmp_path: Path
) -> None:
    stored = settings.but(database_url=SecretStr(f"sqlite:///{tmp_path}/memory.db"))
    slow = WaitingModel(prompts=[], go=threading.Event(), begun=threading.Event())
    async with (
        open_graph(stored, model=slow, embeddings=embeddings) as graph,
        open_graph(stored, model=EchoModel(prompts=[]), embeddings=embeddings) as other,
    ):
        late = asyncio.create_task(say(graph, HOW_LATE))
        await asyncio.to_thread(slow.begun.wait)
        for lock in (tmp_path / "memory.db.locks").iterdir():
            lock.unlink()
        await say(other, AND_YOU)
        slow.go.set()
        assert [message.text for message in (await late)["messages"]] == BEHIND
        assert await archived(graph) == BEHIND
        assert (await examine(graph, "ada", "t1"))[0].findings == ()
