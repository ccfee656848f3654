"""The cache of web results in Postgres: each user's own, bounded, for a while, and never in the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from fake_web import BRAVE, SECRET, Reply, Server, engines_of, running_server, search, without_variables

from everthread.search import failover
from everthread.settings.settings import Settings
from everthread.state.search_records import SearchResult
from everthread.storage.postgres.database import Database
from everthread.storage.search_cache import SearchCache
from everthread.storage.user_rows import UserRows

RESULT = SearchResult(title="T", url="https://example.org", content="c 中文 \ufffd", engine="e", published="2026-01-01")


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_proxy_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    without_variables(monkeypatch)
    monkeypatch.setattr(failover, "_BACK_OFF", 0.01)


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[Database]:
    database = Database(settings)
    yield database
    await database.close()


def cache_of(database: Database, max_entries: int = 500, *, user: str = "ada") -> SearchCache:
    return SearchCache(UserRows(database, user), max_entries)


async def rows(database: Database) -> list[dict[str, Any]]:
    async def work(connection: Any) -> list[dict[str, Any]]:
        return list(await (await connection.execute("SELECT * FROM search_cache")).fetchall())

    return await database.run(work)


async def age(database: Database, seconds: int) -> None:
    async def work(connection: Any) -> None:
        await connection.execute(
            "UPDATE search_cache SET created_at = created_at - make_interval(secs => %s)", [seconds]
        )

    await database.run(work)


async def test_a_second_search_is_served_from_the_cache_of_any_process(
    server: Server, database: Database, settings: Settings
) -> None:
    first = await search(server, "Ants  in HILLS", cache=cache_of(database), search_engines=("brave",))
    other = Database(settings)
    again = await search(server, "ants in hills", cache=cache_of(other), search_engines=("brave",))
    await other.close()
    assert (first.from_cache, again.from_cache) == (False, True)
    assert again.results == first.results
    assert again.engine == "brave"
    assert len(server.requests("brave")) == 1


async def test_nobody_can_tell_what_another_user_searched_for(server: Server, database: Database) -> None:
    for user in ("ada", "ADA", "ada "):
        answer = await search(server, "ants", cache=cache_of(database, user=user), search_engines=("brave",))
        assert not answer.from_cache
    assert len(server.requests("brave")) == 3
    # Not by what a put of one's own pushes out, either.
    for number in range(4):
        await cache_of(database, 2, user="bob").put([str(number)], [RESULT], 3600)
    assert (await search(server, "ants", cache=cache_of(database), search_engines=("brave",))).from_cache


async def test_another_query_engine_or_language_is_asked_for_anew(server: Server, database: Database) -> None:
    cache = cache_of(database)
    await search(server, "ants", cache=cache, search_engines=("brave",))
    for query, more in (
        ("bees", {"search_engines": ("brave",)}),
        ("ants", {"search_engines": ("google",)}),
        ("ants", {"search_engines": ("brave",), "search_language": "de"}),
        ("ants", {"search_engines": ("google",), "engines": engines_of(server, google="another")}),
        ("ants", {"search_engines": ("brave",), "max_results": 1}),
    ):
        assert not (await search(server, query, cache=cache, **more)).from_cache
    assert len(server.asked) == 6


async def test_what_is_older_than_the_time_to_live_is_asked_for_anew(server: Server, database: Database) -> None:
    cache = cache_of(database)
    await search(server, cache=cache, search_engines=("brave",), retention="search_cache=100s")
    await age(database, 99)
    assert (await search(server, cache=cache, search_engines=("brave",), retention="search_cache=100s")).from_cache
    await age(database, 2)
    assert not (await search(server, cache=cache, search_engines=("brave",), retention="search_cache=100s")).from_cache


async def test_it_can_be_turned_off(server: Server, database: Database) -> None:
    for _ in range(2):
        await search(server, cache=cache_of(database), search_engines=("brave",), retention="search_cache=0s")
    assert len(server.requests("brave")) == 2
    assert await rows(database) == []


async def test_failures_are_not_kept(server: Server, database: Database) -> None:
    cache = cache_of(database)
    server.play(brave=[Reply({"web": {"results": []}}), Reply(BRAVE)])
    assert not (await search(server, cache=cache, search_engines=("brave",))).results
    assert (await search(server, cache=cache, search_engines=("brave",))).results


async def test_a_failing_engine_is_stood_in_for_by_what_it_found_before(server: Server, database: Database) -> None:
    cache = cache_of(database)
    await search(server, cache=cache, search_engines=("brave",))
    server.play(brave=Reply("oops", 500))
    assert (await search(server, cache=cache, search_engines=("brave",))).results


async def test_no_query_can_be_read_from_it(server: Server, database: Database) -> None:
    await search(server, f"{SECRET} ada@example.org", cache=cache_of(database), search_engines=("brave",))
    (row,) = await rows(database)
    assert set(row) == {"user_id", "key", "results", "created_at"}
    assert SECRET not in repr(row)


async def test_it_does_not_grow_without_end(database: Database) -> None:
    cache = cache_of(database, max_entries=5)
    for number in range(12):
        await cache.put([str(number)], [RESULT], 3600)
    assert len(await rows(database)) == 5
    assert await cache.get(["11"], 3600) == [RESULT]
    assert await cache.get(["3"], 3600) is None
    await age(database, 7200)
    await cache.put(["new"], [RESULT], 3600)
    assert len(await rows(database)) == 1


async def test_without_the_database_a_search_goes_on(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    nowhere = Database(Settings(database_url="postgresql://nobody@127.0.0.1:1/none"))
    outcome = await search(server, cache=cache_of(nowhere), search_engines=("brave",))
    assert outcome.results
    assert "The cache of web results cannot be read" in caplog.text
    assert SECRET not in caplog.text


async def test_a_cache_that_hangs_does_not_hold_up_the_turn(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(Database):
        async def run(self, work: Any, *, one_statement: bool = False) -> Any:
            await asyncio.sleep(600)

    monkeypatch.setattr("everthread.storage.search_cache._SECONDS", 0.05)
    outcome = await search(server, cache=cache_of(Hanging(Settings())), search_engines=("brave",))
    assert outcome.results


async def test_rows_of_another_shape_are_passed_over(server: Server, database: Database) -> None:
    cache = cache_of(database)
    await search(server, cache=cache, search_engines=("brave",))

    async def spoil(connection: Any) -> None:
        await connection.execute("""UPDATE search_cache SET results = '[{"other": 1}]'""")

    await database.run(spoil)
    assert (await search(server, cache=cache, search_engines=("brave",))).results
