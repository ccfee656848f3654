"""Several engines: failover, back-off, breakers, one deadline, fusion by rank; what is sent and what is told."""

from __future__ import annotations

import asyncio
import email.utils
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from fake_web import (
    DUCK,
    DUCK_CHALLENGE,
    SECRET,
    TAVILY,
    Reply,
    Server,
    engines_of,
    running_server,
    search,
    without_variables,
)
from hypothesis import given
from hypothesis import strategies as st

from everthread.models.failures import retry_after
from everthread.search import failover
from everthread.search.breaker import FAILURES, FIRST_REST, LONGEST_REST, Breaker, Breakers
from everthread.search.cleaning import url_key
from everthread.search.fusion import fused
from everthread.search.web_search import search_web
from everthread.settings.settings import Settings
from everthread.state.errors import SearchError
from everthread.state.search_records import SearchResult

LIMITED = Reply(DUCK_CHALLENGE, 202)


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _quick_and_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    without_variables(monkeypatch)
    monkeypatch.setattr(failover, "_BACK_OFF", 0.01)


async def test_where_an_engine_fails_the_next_answers_and_the_state_says_so(server: Server) -> None:
    server.play(tavily=Reply("oops", 500))
    outcome = await search(server)
    assert (outcome.engine, outcome.error) == ("duckduckgo", None)
    (failure,) = outcome.failures
    assert (failure.engine, failure.kind, failure.attempts) == ("tavily", "server", 1)
    assert outcome.sent == f"ants {SECRET}"
    assert outcome.milliseconds is not None


async def test_an_engine_of_ones_own_may_have_another_name_than_in_the_settings() -> None:
    class Own:
        def __init__(self, name: str, found: list[SearchResult] | None) -> None:
            self.name, self.found = name, found

        def available(self) -> bool:
            return True

        async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
            if self.found is None:
                raise SearchError("down.", "refused")
            return self.found

    page = SearchResult(title="Ants", url="https://example.com/ants", content="Ants dig.", engine="b")
    engines = {"one": Own("a", None), "two": Own("b", [page])}
    answer = await search_web("ants", Settings(search_engines=("one", "two")), engines, breakers=Breakers())
    assert ([failure.engine for failure in answer.failures], answer.error) == (["a"], None)
    assert [result.url for result in answer.results] == [page.url]


async def test_an_engine_without_its_key_is_passed_over(server: Server) -> None:
    outcome = await search(server, engines=engines_of(server, tavily=""))
    assert outcome.engine == "duckduckgo"
    assert [failure.attempts for failure in outcome.failures] == [0]


async def test_while_another_engine_can_be_asked_nothing_is_waited_for(server: Server) -> None:
    server.play(duckduckgo=Reply(DUCK_CHALLENGE, 202, headers={"retry-after": "5"}))
    outcome = await search(server, search_engines=("duckduckgo", "tavily"))
    assert outcome.engine == "tavily"
    assert len(server.requests("duckduckgo")) == 1


async def test_a_refusal_for_now_is_asked_again_when_no_engine_is_left(server: Server) -> None:
    """ddgs #316, #304, #153, #241: DuckDuckGo answers 202 after a few searches."""
    server.play(duckduckgo=[LIMITED, LIMITED, Reply(DUCK)])
    outcome = await search(server, search_engines=("duckduckgo",))
    assert (outcome.engine, outcome.error) == ("duckduckgo", None)
    assert len(server.requests("duckduckgo")) == 3


async def test_a_lasting_refusal_ends_after_three_attempts_and_is_told(server: Server) -> None:
    server.play(tavily=Reply({"detail": {"error": "x"}}, 429), duckduckgo=LIMITED)
    outcome = await search(server)
    assert outcome.error == (
        "The web search brought nothing: tavily refuses for now: its rate limit is reached (HTTP 429); "
        "duckduckgo refuses for now: it limits automatic searches (HTTP 202)."
    )
    assert [failure.attempts for failure in outcome.failures] == [3, 3]


async def test_retry_after_is_kept_within_the_deadline_and_not_beyond_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0.001 if seconds > 0.01 else seconds)

    later = Reply({"error": {"code": 429}}, 429, headers={"retry-after": "1"})
    server.play(google=[later, Reply({"items": []})])
    monkeypatch.setattr("everthread.search.failover.asyncio.sleep", noted)
    outcome = await search(server, search_engines=("google",))
    assert len(server.requests("google")) == 2
    assert max(pauses) > 0.8
    assert [failure.kind for failure in outcome.failures] == ["nothing"]

    server.play(brave=Reply("", 429, headers={"retry-after": "20"}))
    outcome = await search(server, search_engines=("brave",))
    assert len(server.requests("brave")) == 1
    assert outcome.failures[0].kind == "rate limit"


async def test_a_wrong_key_is_not_tried_again(server: Server) -> None:
    server.play(tavily=Reply({"detail": {"error": "no"}}, 401))
    await search(server, search_engines=("tavily",))
    assert len(server.requests("tavily")) == 1


async def test_all_engines_together_stay_within_the_time(server: Server) -> None:
    server.play(tavily=Reply(TAVILY, seconds=60), duckduckgo=Reply(DUCK, seconds=60))
    outcome = await asyncio.wait_for(search(server, timeouts={"search": 0.4}), 30)
    assert [failure.kind for failure in outcome.failures] == ["timeout", "timeout"]


async def test_one_that_hangs_leaves_time_for_the_next(server: Server) -> None:
    await search(server, search_engines=("duckduckgo",))  # which loads what it needs
    server.play(tavily=Reply(TAVILY, seconds=60))
    outcome = await search(server, timeouts={"search": 4})
    assert outcome.engine == "duckduckgo"


async def test_nothing_listens() -> None:
    with running_server() as closed:
        pass
    error = (await search(closed)).error
    assert error == "The web search brought nothing: tavily cannot be reached; duckduckgo cannot be reached."


async def test_an_engine_that_breaks_the_rules_does_not_fail_the_turn(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        name = "broken"

        def available(self) -> bool:
            return True

        async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
            raise SearchError(f"cannot find {query}")

    class Worse(Broken):
        async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
            return None  # type: ignore[return-value]

    for made, words in ((Broken(), f"broken: cannot find {SECRET}"), (Worse(), "broken failed (TypeError)")):
        answer = await search_web(SECRET, Settings(search_engines=("broken",)), {"broken": made}, breakers=Breakers())
        assert answer.error == f"The web search brought nothing: {words}."
    assert SECRET not in caplog.text


async def test_cancelling_the_turn_cancels_the_search(server: Server) -> None:
    server.play(tavily=Reply(TAVILY, seconds=1))
    breakers = Breakers()
    task = asyncio.create_task(search(server, breakers=breakers))
    while not server.asked:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert breakers.of("tavily").admits()


async def test_after_failing_in_several_searches_an_engine_is_left_alone(server: Server) -> None:
    server.play(tavily=Reply("oops", 500))
    breakers = Breakers()
    for _ in range(FAILURES):
        await search(server, breakers=breakers)
    asked = len(server.requests("tavily"))
    outcome = await search(server, breakers=breakers)
    assert outcome.engine == "duckduckgo"
    assert len(server.requests("tavily")) == asked
    assert outcome.failures[0].kind == "unavailable"
    assert "is left alone for" in outcome.failures[0].problem


def test_a_breaker_opens_tries_once_and_closes() -> None:
    now = 0.0
    breaker = Breaker(clock=lambda: now)
    for _ in range(FAILURES):
        assert breaker.admits()
        breaker.failed()
    assert not breaker.admits()
    now = FIRST_REST
    assert breaker.admits()
    assert not breaker.admits(), "one trial at a time"
    breaker.failed()
    now += FIRST_REST
    assert not breaker.admits(), "the second rest is longer"
    now += FIRST_REST
    assert breaker.admits()
    breaker.given_up()
    assert breaker.admits(), "a trial that was given up does not count"
    breaker.succeeded()
    assert breaker.admits()
    assert breaker.admits()


def test_a_breaker_rests_as_long_as_the_engine_asks_but_not_for_ever() -> None:
    now = 0.0
    breaker = Breaker(clock=lambda: now)
    breaker.failed(SearchError("x", "rate limit", retry_after=120))
    assert breaker.seconds_left == 120
    breaker = Breaker(clock=lambda: now)
    breaker.failed(SearchError("x", "rate limit", retry_after=10**9))
    assert breaker.seconds_left == LONGEST_REST


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    assert retry_after({"Retry-After": "7"}) == 7
    moment = datetime.now(UTC) + timedelta(seconds=60)
    assert 50 < (retry_after({"retry-after": email.utils.format_datetime(moment, usegmt=True)}) or 0) <= 60
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    for unreadable in ("", "soon", "-5", "٣"):
        assert retry_after({"retry-after": unreadable}) is None
    assert retry_after({}) is None


async def test_several_engines_at_once_are_fused_by_rank_without_doubles(server: Server) -> None:
    outcome = await search(server, search_engines=("brave", "searxng", "google"), search_at_once=3, max_results=3)
    assert outcome.engine == "brave+searxng+google"
    first, *others = outcome.results
    assert (first.url, first.engine) == ("https://example.org/ants", "brave+searxng+google")
    assert first.content.endswith("They dig. They carry."), "the longest content"
    assert len({url_key(result.url) for result in outcome.results}) == 3
    assert {result.engine for result in others} <= {"brave", "searxng", "google"}


async def test_of_several_at_once_one_may_fail_and_the_next_stands_in(server: Server) -> None:
    server.play(brave=Reply("oops", 500))
    outcome = await search(server, search_engines=("brave", "searxng", "google"), search_at_once=2)
    assert outcome.engine == "searxng+google"
    assert [failure.engine for failure in outcome.failures] == ["brave"]


async def test_max_results_is_kept(server: Server) -> None:
    for engine in ("tavily", "duckduckgo", "google", "searxng", "brave"):
        assert len((await search(server, max_results=1, search_engines=(engine,))).results) == 1
    assert len((await search(server, max_results=1, search_engines=("google", "brave"), search_at_once=2)).results) == 1


RESULTS = st.lists(
    st.builds(
        lambda n, engine: SearchResult(title="t", url=f"https://example.org/{n}", content="c" * n, engine=engine),
        st.integers(0, 6),
        st.sampled_from(["a", "b"]),
    ),
    max_size=6,
)


@given(st.lists(RESULTS, max_size=4), st.integers(1, 5))
def test_fusion_gives_each_page_once_and_keeps_to_the_limit(rankings: list[list[SearchResult]], limit: int) -> None:
    result = fused(rankings, limit)
    keys = [url_key(page.url) for page in result]
    assert len(keys) == len(set(keys)) <= limit
    assert set(keys) <= {url_key(page.url) for ranking in rankings for page in ranking}


@given(RESULTS)
def test_fusion_of_one_ranking_keeps_its_order(ranking: list[SearchResult]) -> None:
    pages = list(dict.fromkeys(page.url for page in ranking))
    assert [page.url for page in fused([ranking], 99)] == pages


async def test_results_are_asked_for_in_the_language_of_the_query_or_the_one_it_names(server: Server) -> None:
    """chatwise #159: choose the search language by intent."""
    engines = ("searxng",)
    for query, message, language in (
        ("最近的地震", "m", "zh"),
        ("Wie wird das Wetter in Berlin", "m", "de"),
        ("what is the weather in Berlin", "m", "en"),
        ("RTX 5090", "m", "auto"),
        ("东京最好的拉面", "用英文搜索东京最好的拉面", "en"),
        ("asyncio Python", "Suche auf Französisch nach asyncio", "fr"),
    ):
        await search(server, query, message=message, search_engines=engines)
        assert server.requests("searxng")[-1]["language"] == language, query
    await search(server, "最近的地震", search_engines=engines, search_language="en")
    assert server.requests("searxng")[-1]["language"] == "en"
    await search(server, "最近的地震", search_engines=("duckduckgo",))
    assert server.requests("duckduckgo")[-1]["l"] == "cn-zh"
    await search(server, "最近的地震", search_engines=("duckduckgo",), search_language="any")
    assert server.requests("duckduckgo")[-1]["l"] == "wt-wt"
