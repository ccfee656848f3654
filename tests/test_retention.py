"""What is older, or more, than is to be kept goes by itself; what stays goes on working, and turns are not held up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from command import run as run_command
from conversation import EchoModel, open_with, say, thread
from langchain_core.embeddings import DeterministicFakeEmbedding

from everthread import (
    InputError,
    Retention,
    Settings,
    SettingsError,
    open_graph,
    retain_thread,
    retention_runs,
    run_retention,
)
from everthread.runtime import retention
from everthread.state.records import now
from everthread.state.search_records import SearchResult
from everthread.storage.search_cache import SearchCache
from everthread.storage.storage import Storage

RESULT = SearchResult(title="T", url="https://example.org", content="c", engine="e")


@pytest.fixture(params=["postgres", "sqlite", "json"])
def stored(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Settings:
    """Settings on each storage, empty."""
    return settings if request.param == "postgres" else settings.but(database_url=request.param, data_dir=tmp_path)


@pytest.fixture
def opened(stored: Settings) -> Callable[..., open_graph]:
    """Open the same storage once more, as a new process would."""

    def again(**values: Any) -> open_graph:
        embeddings = DeterministicFakeEmbedding(size=8)
        return open_with(stored, **{"model": EchoModel(prompts=[]), "embeddings": embeddings, **values})

    return again


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Move the clock of retention forward."""

    def move(**by: float) -> None:
        monkeypatch.setattr(retention, "now", lambda: now() + timedelta(**by))

    return move


async def checkpoints_of(graph: Any, to: str = "t1") -> list[Any]:
    return [state async for state in graph.aget_state_history(thread(to))]


async def count(storage: Storage, table: str) -> int:
    async def work(connection: Any) -> int:
        row = await (await connection.execute(f"SELECT count(*) AS n FROM {table}")).fetchone()  # noqa: S608
        return int(row["n"])

    return await storage.run(work)


async def test_by_default_nothing_goes(opened: Callable[..., open_graph], later: Callable[..., None]) -> None:
    async with opened() as graph:
        for n in range(4):
            await say(graph, f"Remark {n}.")
        before = await checkpoints_of(graph)
        later(days=10_000)
        gone = await run_retention(graph)
        assert gone is not None
        assert (gone.threads, gone.messages, gone.reports, gone.checkpoints) == (0, 0, 0, 0)
        assert await checkpoints_of(graph) == before
        assert await graph.resources.of_user("ada").reports.find("t1", 1) is not None


async def test_reports_go_by_their_age(opened: Callable[..., open_graph], later: Callable[..., None]) -> None:
    async with opened(retention="reports=30d") as graph:
        for n in range(3):
            await say(graph, f"Remark {n}.")
        later(days=29)
        assert (await run_retention(graph)).reports == 0
        later(days=31)
        assert (await run_retention(graph, dry_run=True)).reports == 3
        gone = await run_retention(graph)
        assert (gone.reports, gone.threads) == (3, 1)
        assert await count(graph.resources.database, "turn_reports") == 0
        assert (await say(graph, "And on."))["after_reply"].error is None
        assert len((await graph.aget_state(thread())).values["messages"]) == 8


async def test_search_results_go_by_their_age(opened: Callable[..., open_graph], later: Callable[..., None]) -> None:
    async with opened(retention="search_cache=1d") as graph:
        cache = SearchCache(graph.resources.database)
        await cache.put(["ants"], [RESULT], 86_400)
        later(hours=23)
        assert (await run_retention(graph)).search_results == 0
        later(hours=25)
        assert (await run_retention(graph, dry_run=True)).search_results == 1
        assert (await run_retention(graph)).search_results == 1
        assert await count(graph.resources.database, "search_cache") == 0


async def test_the_newest_checkpoints_stay_and_edits_and_forks_go_on_from_each(
    opened: Callable[..., open_graph],
) -> None:
    async with opened(retention="checkpoints=5") as graph:
        for n in range(8):
            await say(graph, f"Remark {n}.")
        before = await checkpoints_of(graph)
        assert len(before) > 5
        assert (await run_retention(graph, dry_run=True)).checkpoints == len(before) - 5
        gone = await run_retention(graph)
        assert (gone.checkpoints, gone.threads, gone.busy) == (len(before) - 5, 1, 0)
        kept = await checkpoints_of(graph)
        assert [state.config for state in kept] == [state.config for state in before[:5]]
        assert [state.values for state in kept] == [state.values for state in before[:5]]
        assert (await run_retention(graph)).checkpoints == 0
        for state in kept:
            fork = await graph.ainvoke(
                {"messages": [("user", "Another way.")]}, state.config, context={"user_id": "ada"}
            )
            assert fork["messages"][-1].text.endswith("Another way.")
            assert len(fork["messages"]) == len(state.values["messages"]) + 2 or state.next
        edited = next(m for m in (await graph.aget_state(thread())).values["messages"] if m.type == "human")
        again = await say(graph, {"messages": [edited.model_copy(update={"content": "Something else."})]})
        assert again["messages"][-1].text.endswith("Something else.")


async def test_values_that_only_old_checkpoints_had_go_with_them(settings: Settings) -> None:
    async with open_with(settings, model=EchoModel(prompts=[]), retention="checkpoints=1") as graph:
        for n in range(6):
            await say(graph, f"Remark {n}.")
        before = (await graph.aget_state(thread())).values
        await run_retention(graph)
        (state,) = await checkpoints_of(graph)
        assert state.values == before
        versions = (await graph.checkpointer.aget_tuple(thread())).checkpoint["channel_versions"]  # type: ignore[union-attr]
        assert await count(graph.resources.database, "checkpoint_blobs") <= len(versions)


async def test_old_checkpoints_go_but_the_newest_stays(
    opened: Callable[..., open_graph], later: Callable[..., None]
) -> None:
    async with opened(retention="checkpoint_age=30d") as graph:
        for n in range(3):
            await say(graph, f"Remark {n}.")
        before = await checkpoints_of(graph)
        later(days=29)
        assert (await run_retention(graph)).checkpoints == 0
        later(days=31)
        assert (await run_retention(graph)).checkpoints == len(before) - 1
        (state,) = await checkpoints_of(graph)
        assert state.values == before[0].values
        assert len((await say(graph, "And on."))["messages"]) == 8


async def test_a_run_that_ends_early_is_made_up_for(
    opened: Callable[..., open_graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(retention="checkpoints=1") as graph:
        for n in range(5):
            await say(graph, f"Remark {n}.")
        with monkeypatch.context() as broken:
            broken.setattr(retention.Due, "delete_values", failing)
            with pytest.raises(ValueError, match="the process is killed"):
                await run_retention(graph)
        states = await checkpoints_of(graph)
        assert len(states) == 2
        assert [len(state.values["messages"]) for state in states] == [10, 9]
        gone = await run_retention(graph)
        assert gone.checkpoints == 1


async def failing(*_: object) -> int:
    raise ValueError("the process is killed")


async def test_a_thread_has_its_own_shorter_or_longer(
    opened: Callable[..., open_graph], later: Callable[..., None]
) -> None:
    async with opened(retention="reports=30d,checkpoints=3") as graph:
        for to in ("t1", "t2", "t3"):
            for n in range(3):
                await say(graph, f"Remark {n}.", to=to)
        await retain_thread(graph, "ada", "t2", "reports=1d,checkpoints=1")
        await retain_thread(graph, "ada", "t3", "reports=forever,checkpoints=forever")
        later(days=2)
        all_of_t3 = len(await checkpoints_of(graph, "t3"))
        assert (await run_retention(graph)).reports == 3
        kept = [len(await checkpoints_of(graph, to)) for to in ("t1", "t2", "t3")]
        assert kept == [3, 1, all_of_t3]
        await retain_thread(graph, "ada", "t3", None)
        later(days=31)
        assert (await run_retention(graph)).reports == 6
        assert len(await checkpoints_of(graph, "t3")) == 3


async def test_a_threads_own_counts_where_the_operator_keeps_everything(
    opened: Callable[..., open_graph], later: Callable[..., None]
) -> None:
    async with opened() as graph:
        await say(graph, "One.", to="t1")
        await say(graph, "Two.", to="t2")
        await retain_thread(graph, "ada", "t1", Retention(reports=timedelta(hours=1)))
        later(hours=2)
        assert (await run_retention(graph)).reports == 1
        assert await graph.resources.of_user("ada").reports.find("t2", 1) is not None


async def test_nobody_sets_the_retention_of_somebody_else(opened: Callable[..., open_graph]) -> None:
    async with opened() as graph:
        await say(graph, "One.")
        with pytest.raises(InputError, match="There is no thread 't1' of this user"):
            await retain_thread(graph, "bob", "t1", "messages=1s")
        with pytest.raises(SettingsError, match=r"'retention\.messages' cannot be '1 year': expected a number"):
            await retain_thread(graph, "ada", "t1", "messages=1 year")
        with pytest.raises(SettingsError, match="Unknown part 'mesages' of 'retention'"):
            await retain_thread(graph, "ada", "t1", "mesages=1d")


class Slow(EchoModel):
    go: Any = None
    begun: Any = None

    def _generate(self, *args: Any, **more: Any) -> Any:
        self.begun.set()
        self.go.wait(60)
        return super()._generate(*args, **more)
