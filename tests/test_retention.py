"""What is older, or more, than is to be kept goes by itself; what stays goes on working, and turns are not held up."""

from __future__ import annotations

import asyncio
import logging
import statistics
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from command import run as run_command
from conversation import EchoModel, WaitingModel, counting_model, open_with, say, thread
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage
from logins import login

from everthread import (
    InputError,
    Retention,
    Settings,
    SettingsError,
    Summary,
    open_graph,
    retain_thread,
    retention_runs,
    run_retention,
)
from everthread.runtime import retention
from everthread.settings.retention import CHECKPOINTS
from everthread.state.records import now
from everthread.state.search_records import SearchResult
from everthread.storage.open import locks_of
from everthread.storage.search_cache import SearchCache
from everthread.storage.storage import Storage
from everthread.storage.user_rows import UserRows

LONG_AGO = "2020-01-01T00:00:00.000000+00:00"

RESULT = SearchResult(title="T", url="https://example.org", content="c", engine="e")


@pytest.fixture(autouse=True)
def _at_a_word_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "FIRST_SECONDS", 86_400.0)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Move the clock of retention forward."""

    def move(**by: float) -> None:
        monkeypatch.setattr(retention, "now", lambda: now() + timedelta(**by))

    return move


async def checkpoints_of(graph: Any, to: str = "t1") -> list[Any]:
    return [state async for state in graph.aget_state_history(thread(to))]


async def by_hand(storage: Storage, statement: str) -> None:
    async def work(connection: Any) -> None:
        await connection.execute(statement)

    await storage.run(work)


async def count(storage: Storage, table: str) -> int:
    async def work(connection: Any) -> int:
        row = await (await connection.execute(f"SELECT count(*) AS n FROM {table}")).fetchone()
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
        cache = SearchCache(UserRows(graph.resources.database, "ada"))
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
    async with opened(retention="checkpoints=forever") as graph:
        for n in range(8):
            await say(graph, f"Remark {n}.")
        await retain_thread(graph, "ada", "t1", "checkpoints=5")
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


async def test_by_default_the_checkpoints_of_the_last_turns_stay(opened: Callable[..., open_graph]) -> None:
    async with opened() as graph:
        for n in range(14):
            await say(graph, f"Remark {n}.")
        kept = await checkpoints_of(graph)
        assert len(kept) == CHECKPOINTS
        edited = kept[-1].values["messages"][-1]
        assert edited.text == "Remark 6." or kept[-1].next == ()
        state = await say(graph, {"messages": [("user", "And on.")]})
        assert len(state["messages"]) == 30


async def test_who_goes_back_to_what_was_thinned_is_told_so(opened: Callable[..., open_graph]) -> None:
    async with opened() as graph:
        await say(graph, "The first.")
        first = (await checkpoints_of(graph))[0].config
        for n in range(CHECKPOINTS):
            await say(graph, f"Remark {n}.")
        said = "is not there: of each thread the newest are kept"
        with pytest.raises(InputError, match=said):
            await graph.aget_state(first)
        with pytest.raises(InputError, match=said):
            await graph.ainvoke({"messages": [("user", "Otherwise.")]}, first, context={"user_id": "ada"})
        assert len((await graph.aget_state(thread())).values["messages"]) == 2 * (CHECKPOINTS + 1)
        assert (await graph.ahistory("ada", "t1", limit=100))[0].text == "The first."


async def test_a_thread_that_keeps_its_checkpoints_and_an_operator_who_does(opened: Callable[..., open_graph]) -> None:
    async with opened(retention="checkpoints=2") as graph:
        await say(graph, "One.")
        await retain_thread(graph, "ada", "t1", "checkpoints=forever")
        for n in range(4):
            await say(graph, f"Remark {n}.")
            await say(graph, f"Remark {n}.", to="t2")
        assert len(await checkpoints_of(graph)) == 10
        assert len(await checkpoints_of(graph, "t2")) == 2
    async with opened(retention="checkpoints=forever") as graph:
        before = len(await checkpoints_of(graph, "t2"))
        for n in range(4):
            await say(graph, f"Remark {n}.", to="t2")
        assert len(await checkpoints_of(graph, "t2")) == before + 8


async def test_values_and_writes_of_checkpoints_that_went_do_not_stay(settings: Settings) -> None:
    async with open_with(settings, model=EchoModel(prompts=[]), retention="checkpoints=4") as graph:
        database, sizes = graph.resources.database, []
        for n in range(12):
            await say(graph, f"Remark {n}.")
            sizes.append([await count(database, f"checkpoint_{table}") for table in ("blobs", "writes")])
        assert sizes[-1] == sizes[5]
        assert sizes[-1][1] == 0


@pytest.mark.slow
async def test_the_file_of_sqlite_shrinks(settings: Settings, tmp_path: Path) -> None:
    stored = settings.but(database_url="sqlite", data_dir=tmp_path, visible_messages=2_000)
    async with open_with(stored, model=EchoModel(prompts=[]), retention="checkpoints=forever") as graph:
        for n in range(16):
            await say(graph, f"{n} " + "a long remark " * 3_000)
        full = graph.resources.database.path.stat().st_size
        await graph.checkpointer.aprune(["t1"])  # type: ignore[union-attr]
        assert graph.resources.database.path.stat().st_size < full / 2
        assert len((await graph.aget_state(thread())).values["messages"]) == 32


async def test_values_that_only_old_checkpoints_had_go_with_them(settings: Settings) -> None:
    async with open_with(settings, model=EchoModel(prompts=[]), retention="checkpoints=forever") as graph:
        for n in range(6):
            await say(graph, f"Remark {n}.")
        await retain_thread(graph, "ada", "t1", "checkpoints=1")
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
    async with opened(retention="checkpoints=forever") as graph:
        for n in range(5):
            await say(graph, f"Remark {n}.")
        await retain_thread(graph, "ada", "t1", "checkpoints=1")
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


async def test_a_copied_thread_has_the_retention_of_the_original(
    opened: Callable[..., open_graph], later: Callable[..., None]
) -> None:
    async with opened() as graph:
        await say(graph, "One.")
        await retain_thread(graph, "ada", "t1", "messages=1h")
        await graph.checkpointer.acopy_thread("t1", "t2")  # type: ignore[union-attr]
        later(hours=2)
        gone = await run_retention(graph)
        assert (gone.messages, gone.threads) == (4, 2)


@pytest.mark.parametrize("rights", ["SUPERUSER", "NOSUPERUSER"])
async def test_behind_row_level_security_the_threads_of_all_users_are_found(settings: Settings, rights: str) -> None:
    with login(settings, rights) as own:
        async with open_with(own, model=counting_model(), retention="messages=365d,checkpoints=forever") as graph:
            for user in ("ada", "bob"):
                for n in range(2):
                    await say(graph, f"Remark {n}.", to=f"of {user}", user=user)
                await age_messages(graph, user)
                await retain_thread(graph, user, f"of {user}", "checkpoints=1")
            gone = await run_retention(graph)
            assert gone is not None
            assert (gone.messages, gone.threads) == (8, 2)
            assert gone.checkpoints >= 2


async def age_messages(graph: Any, user: str) -> None:
    rows = graph.resources.of_user(user).rows
    await rows.fetch("UPDATE messages SET created_at = '2020-01-01' WHERE user_id = %(user_id)s")


async def test_nobody_sets_the_retention_of_somebody_else(opened: Callable[..., open_graph]) -> None:
    async with opened() as graph:
        await say(graph, "One.")
        with pytest.raises(InputError, match="There is no thread 't1' of this user"):
            await retain_thread(graph, "bob", "t1", "messages=1s")
        with pytest.raises(SettingsError, match=r"'retention\.messages' cannot be '1 year': expected a number"):
            await retain_thread(graph, "ada", "t1", "messages=1 year")
        with pytest.raises(SettingsError, match="Unknown part 'mesages' of 'retention'"):
            await retain_thread(graph, "ada", "t1", "mesages=1d")


async def talk_in_two_ages(graph: Any, *, turns: int = 8) -> None:
    """Turns of long ago in the thread t1, and two of today: one there, one in t2 that shows a memory of it."""
    for n in range(turns):
        await say(graph, f"My hobby number {n} is collecting stamps of country {n}.")
    await say(graph, "Remember that my alarm code is ZZ-12.")
    await graph.asettled()
    await by_hand(graph.resources.database, f"UPDATE messages SET created_at = '{LONG_AGO}'")
    await say(graph, "My cat is called Biscuit.")
    await say(graph, "Which stamps is my hobby number 3, and what is my alarm code?", to="t2")
    await graph.asettled()


async def test_messages_go_by_their_age_with_all_that_was_made_from_them(opened: Callable[..., open_graph]) -> None:
    async with opened(model=counting_model(), retention="messages=365d") as graph:
        await talk_in_two_ages(graph)
        user = graph.resources.of_user("ada")
        assert any("stamps" in summary.content for summary in await user.archive.summaries("t1"))
        counted = await run_retention(graph, dry_run=True)
        assert (counted.messages, counted.threads) == (18, 1)
        assert len(await user.archive.messages("t1")) == 20
        gone = await run_retention(graph)
        assert (gone.messages, gone.threads, gone.busy) == (18, 1, 0)
        assert gone.summaries > 0
        texts = [message.text for message in await user.archive.messages("t1")]
        assert texts == ["My cat is called Biscuit.", "Reply 10."]
        for summary in await user.archive.summaries("t1"):
            assert "stamps" not in summary.content
        shown = (await graph.aget_state(thread())).values["messages"]
        assert [message.text for message in shown] == texts
        assert "country 3" not in await dump(graph.resources.database, "turn_reports", "t2")
        for table in ("facts", "pins", "vectors", "turn_reports", "summaries", "messages"):
            assert "country 3" not in await dump(graph.resources.database, table, "t1")
            assert "ZZ-12" not in await dump(graph.resources.database, table, "t1")
        state = await say(graph, "Which stamps do I collect, and what is my cat called?", to="t3")
        recalled = str(state["recall"].memories)
        assert "Biscuit" in recalled
        assert "country" not in recalled
        assert (await say(graph, "And on."))["after_reply"].error is None
        assert (await run_retention(graph)).messages == 0


async def dump(storage: Storage, table: str, thread_id: str) -> str:
    async def work(connection: Any) -> str:
        statement = f"SELECT * FROM {table} WHERE thread_id = '{thread_id}'"
        return str(await (await connection.execute(statement)).fetchall())

    return await storage.run(work)


async def test_a_reply_of_today_that_repeats_what_was_said_long_ago_stays(opened: Callable[..., open_graph]) -> None:
    async with opened(retention="messages=365d") as graph:
        await say(graph, "The password of the west gate is a long word.")
        await by_hand(graph.resources.database, f"UPDATE messages SET created_at = '{LONG_AGO}'")
        await say(graph, "The password of the west gate is a long word.", to="t2")
        await graph.asettled()
        assert (await run_retention(graph)).messages == 2
        assert len(await graph.resources.of_user("ada").archive.messages("t2")) == 2


async def test_a_thread_in_which_a_turn_runs_is_left_to_the_next_run(
    opened: Callable[..., open_graph], later: Callable[..., None]
) -> None:
    model = WaitingModel(prompts=[], go=threading.Event(), begun=threading.Event())
    model.go.set()
    async with opened(model=model, retention="checkpoint_age=30d,messages=30d") as graph:
        for to in ("t1", "t2"):
            for n in range(3):
                await say(graph, f"Remark {n}.", to=to)
        later(days=31)
        model.go.clear()
        model.begun.clear()
        turn = asyncio.create_task(say(graph, "And on."))
        await asyncio.to_thread(model.begun.wait, 60)
        gone = await run_retention(graph)
        assert (gone.busy, gone.messages) == (1, 6)
        model.go.set()
        assert (await turn)["after_reply"].error is None
        gone = await run_retention(graph)
        assert gone.busy == 0
        assert gone.messages == 8
        assert gone.checkpoints > 1


async def test_one_process_at_a_time(opened: Callable[..., open_graph]) -> None:
    async with opened(retention="reports=1d") as graph:
        if graph.resources.database.kind == "json":
            pytest.skip("a JSON file takes one process at a time anyway")
        locks = locks_of(graph.resources.database)
        async with locks.try_hold("everthread.retention") as is_mine:
            assert is_mine
            assert await run_retention(graph) is None
        await locks.close()
        assert await run_retention(graph) is not None


async def test_it_runs_by_itself_and_reports_what_it_did_without_a_word_of_it(
    opened: Callable[..., open_graph],
    later: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(retention, "FIRST_SECONDS", 0.0)
    async with opened(retention="reports=30d") as graph:
        await say(graph, "My locker is QX-4471.")
        assert [run.reports for run in await retention_runs(graph)] == [0]
    later(days=31)
    with caplog.at_level(logging.INFO, "everthread.runtime.retention"):
        async with opened(retention="reports=30d") as graph:
            while len(await retention_runs(graph)) < 2:
                await asyncio.sleep(0.01)
    async with opened(retention="reports=30d") as graph:  # within the hour
        await say(graph, "And on.")
        await asyncio.sleep(0.2)
        runs = await retention_runs(graph)
    assert [(run.reports, run.error) for run in runs] == [(1, None), (0, None)]
    (line,) = [record.getMessage() for record in caplog.records if "1 reports" in record.getMessage()]
    assert line == (
        "Retention deleted: 0 messages, 0 summaries, 1 reports, 0 search results, 0 checkpoints, in 1 threads"
    )


async def test_without_a_retention_nothing_runs(
    opened: Callable[..., open_graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "FIRST_SECONDS", 0.0)
    async with opened() as graph:
        await say(graph, "One.")
        await asyncio.sleep(0.2)
        assert await retention_runs(graph) == []


def test_the_command_counts_deletes_and_tells(environment: dict[str, str]) -> None:
    talk = run_command(environment, "chat", "--thread", "work", typed="One.\nTwo.\nThree.\n")
    assert talk.returncode == 0
    environment["EVERTHREAD_RETENTION"] = "checkpoints=2"
    would = run_command(environment, "retention", "--dry-run").stdout
    assert "Would delete: 0 messages" in would
    assert run_command(environment, "retention").stdout == (
        "Retention: messages=forever,reports=forever,search_cache=15m,checkpoints=2,checkpoint_age=forever.\n"
    )
    assert run_command(environment, "retention", "--run").stdout == would.replace("Would delete", "Deleted")
    assert would.split(": ", 1)[1].rstrip(".\n") in run_command(environment, "retention").stdout
    given = run_command(environment, "retention", "--thread", "work", "--own", "reports=1w")
    assert given.stdout == "work: reports=1w.\n"
    wrong = run_command(environment, "retention", "--thread", "work")
    assert wrong.returncode == 1
    assert "--own" in wrong.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
async def test_a_long_thread_goes_while_turns_are_as_quick_as_before(
    kind: str, settings: Settings, tmp_path: Path
) -> None:
    """A run is begun again where it was ended; the turns of others meanwhile take little longer."""
    stored = settings if kind == "postgres" else settings.but(database_url=kind, data_dir=tmp_path)
    components: Any = {"model": counting_model(), "embeddings": DeterministicFakeEmbedding(size=8)}
    async with open_with(stored, **components, retention="messages=365d") as graph:
        await add_messages(graph, 2_000)
        for _ in range(10):
            await say(graph, "Something new.")
        await timed_turns(graph, 10)
        alone, beside, ended, gone = [], [], [], 0
        for _ in range(4):  # in turn, as other work on the machine comes and goes
            alone += await timed_turns(graph, 20)
            stop = asyncio.Event()
            running = asyncio.create_task(retention.RetentionPass(graph.resources, stop, rests=retention.RESTS).run())
            beside += await timed_turns(graph, 20)
            stop.set()
            begun = await running
            assert begun is not None
            assert begun.error in {None, "It was ended before it was done."}
            ended.append(begun.error)
            gone += begun.messages
        assert gone > 0
        assert any(ended)
        assert statistics.median(beside) <= 3 * statistics.median(alone)  # 1.2 on an idle machine
        rest = await run_retention(graph)
        assert rest is not None
        assert gone + rest.messages == 2_000
        assert rest.milliseconds < 120_000
        assert len(await graph.resources.of_user("ada").archive.messages("t1")) == 20  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
async def test_ten_thousand_messages_go_within_seconds_of_processor(
    kind: str, settings: Settings, tmp_path: Path
) -> None:
    stored = settings if kind == "postgres" else settings.but(database_url=kind, data_dir=tmp_path)
    components: Any = {"model": counting_model(), "embeddings": DeterministicFakeEmbedding(size=8)}
    async with open_with(stored, **components, retention="messages=365d") as graph:
        await add_messages(graph, 10_000)
        begun = time.process_time()
        run = await retention.RetentionPass(graph.resources, rests=0.0).run()  # type: ignore[attr-defined]
        taken = time.process_time() - begun
        assert run is not None
        assert run.messages == 10_000
        assert taken < 20  # 4 on SQLite
        assert await graph.resources.of_user("ada").archive.messages("t1") == []  # type: ignore[attr-defined]


async def add_messages(graph: Any, number: int) -> None:
    """Messages of long ago, each ten of them with a summary, and each ten of these."""
    archive = graph.resources.of_user("ada").archive
    for start in range(0, number, 1_000):
        kinds = [HumanMessage, AIMessage] * 500
        said = [
            kind(f"Remark {n}: house {n} has roses.", id=f"m{n}", additional_kwargs={"created_at": LONG_AGO})
            for n, kind in enumerate(kinds, start)
        ]
        await archive.add_messages("t1", said)
    level, below = 1, [f"m{n}" for n in range(number)]
    while len(below) > 1:
        above = [
            Summary(
                id=f"s{level}-{n}", level=level, content="Roses.", source_ids=tuple(below[n : n + 10]), covers=10**level
            )
            for n in range(0, len(below), 10)
        ]
        for summary in above:
            await archive.add_summary("t1", summary)
        level, below = level + 1, [summary.id for summary in above]
    await graph.asettled()


async def timed_turns(graph: Any, number: int) -> list[float]:
    """Seconds of turns of somebody else."""
    seconds = []
    for n in range(number):
        begun = time.perf_counter()
        await say(graph, f"What about remark {n}?", to="of bob", user="bob")
        seconds.append(time.perf_counter() - begun)
    return seconds
