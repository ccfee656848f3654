"""Search engines: their real clients against a server on loopback that plays theirs, in health and in every failure."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fake_web import (
    DUCK,
    DUCK_CHALLENGE,
    DUCK_NOTHING,
    SEARXNG,
    SECRET,
    TAVILY,
    Reply,
    Server,
    running_server,
    search,
    without_variables,
)

from everthread.search import failover, web_search
from everthread.search.brave import Brave
from everthread.search.engines import engine
from everthread.search.google import Google
from everthread.search.searxng import SearXNG
from everthread.search.tavily import Tavily
from everthread.search.web_search import search_web
from everthread.settings.settings import Settings
from everthread.state.errors import SearchError
from everthread.state.search_records import SearchResult


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_proxy_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    without_variables(monkeypatch)
    monkeypatch.setattr(failover, "_BACK_OFF", 0.001)


async def test_tavily_results_are_cleaned_and_each_page_comes_once(server: Server) -> None:
    outcome = await search(server, search_engines=("tavily",))
    assert (outcome.engine, outcome.error, outcome.reason) == ("tavily", None, "r")
    first, second = outcome.results
    assert first == SearchResult(
        title="Ants & bees", url="https://example.org/a?utm_source=x", content="Ants live in hills.",
        engine="tavily", published="2026-01-02",
    )  # fmt: skip
    assert second.url == "https://example.org/b"
    (path, headers, body), *more = server.asked
    assert not more
    assert (path, headers["authorization"]) == ("/search", "Bearer tvly-test")
    assert body == {"query": f"ants {SECRET}", "search_depth": "basic", "max_results": 3}


async def test_duckduckgo_needs_no_key_and_leaves_advertisements_out(server: Server) -> None:
    outcome = await search(server, search_engines=("duckduckgo",))
    first, second = outcome.results
    assert first.url == "https://example.net/ants?a=1"
    assert (first.title, first.content) == ("Ants & bees", "Café ants < 5 mm — naïve")
    assert (second.title, second.content, second.engine) == ("Two", "Second", "duckduckgo")
    assert server.requests("duckduckgo")[0]["q"] == f"ants {SECRET}"


async def test_google_gives_pages_with_their_dates(server: Server) -> None:
    outcome = await search(server, search_engines=("google",))
    first, second = outcome.results
    assert first == SearchResult(
        title="Ants", url="https://example.org/ants", content="Ants live in hills", engine="google",
        published="2026-03-04",
    )  # fmt: skip
    assert (second.content, second.published) == ("Bees fly", None)
    (_, headers, asked) = server.asked[0]
    assert asked == {"cx": "cx-test", "q": f"ants {SECRET}", "num": "3"}
    assert headers["x-goog-api-key"] == "g-test"


async def test_searxng_gives_pages_and_is_asked_for_json(server: Server) -> None:
    outcome = await search(server, search_engines=("searxng",))
    assert [(r.title, r.published) for r in outcome.results] == [("Ants", "2026-03-04"), ("Wasps", None)]
    assert server.requests("searxng")[0]["format"] == "json"


async def test_the_password_of_a_searxng_is_sent_to_it_and_stands_nowhere_else(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SEARXNG_URL", f"{server.url.replace('//', '//ada:pass%40word@')}/searx")
    own = {"searxng": SearXNG()}
    found = await search(server, search_engines=("searxng",), engines=own)
    assert server.asked[-1][1]["authorization"] == "Basic " + base64.b64encode(b"ada:pass@word").decode()
    server.play(searxng=Reply("<h1>oops</h1>", 500))
    failed = await search(server, search_engines=("searxng",), engines=own)
    monkeypatch.setenv("SEARXNG_URL", "http://ada:pass%40word@127.0.0.1:1/searx")
    unreached = await search_web("ants", Settings(search_engines=("searxng",)))
    assert [bool(found.results), bool(failed.results), bool(unreached.results)] == [True, False, False]
    told = f"{found!r} {failed!r} {unreached!r} {caplog.text} {vars(SearXNG())['_base_url']} {SearXNG().variant}"
    assert "pass" not in told


async def test_brave_gives_pages_with_all_their_snippets(server: Server) -> None:
    outcome = await search(server, search_engines=("brave",))
    first, second = outcome.results
    assert (first.content, first.published) == ("Ants live in hills They dig. They carry.", "2026-03-04")
    assert second.published == "3 days ago"
    assert server.asked[0][1]["x-subscription-token"] == "b-test"


JSON_FAILURES = [
    (Reply({"detail": {"error": "too many"}}, 429), "rate limit", "rate limit"),
    (Reply({"error": "missing or invalid key"}, 401), "key", "refused"),
    (Reply("<h1>oops</h1>", 500), "HTTP 500", "server"),
    (Reply({"detail": "accepted"}, 202), "tavily's|refuses for now", None),
    (Reply(json.dumps(TAVILY)[:200], kind="application/json"), "no valid JSON", "unreadable"),
    (Reply(json.dumps(TAVILY), length=100_000), "broke off", "unreachable"),
    (
        Reply('{"results": [{"title": "Café"}]}'.encode("latin-1"), kind="application/json"),
        "no valid JSON",
        "unreadable",
    ),
    (Reply("[]", kind="application/json"), "cannot be read", "unreadable"),
    (Reply({"results": "none", "items": "none", "web": {"results": "none"}}), "no list of results", "unreadable"),
    (Reply({"results": [], "items": [], "web": {"results": []}}), "found nothing", "nothing"),
    (Reply(TAVILY, seconds=2.0), "did not answer", "timeout"),
]


@pytest.mark.parametrize("name", ["tavily", "google", "searxng", "brave"])
@pytest.mark.parametrize(("reply", "problem", "kind"), JSON_FAILURES, ids=[str(f[1]) for f in JSON_FAILURES])
async def test_a_failing_engine_says_what_is_wrong_and_not_the_query(
    server: Server, name: str, reply: Reply, problem: str, kind: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.play(**{name: reply})
    outcome = await search(server, timeouts={"search": 0.3 if reply.seconds else 8.0}, search_engines=(name,))
    assert (outcome.engine, outcome.results) == (None, ())
    (failure,) = outcome.failures
    assert any(words in failure.problem for words in problem.split("|"))
    assert kind is None or failure.kind == kind
    assert outcome.error == f"The web search brought nothing: {failure.problem}."
    assert SECRET not in caplog.text + outcome.error


DUCK_FAILURES = [
    (Reply(DUCK_CHALLENGE, 202), "limits automatic searches (HTTP 202)", "rate limit"),
    (Reply(DUCK_CHALLENGE, 200), "limits automatic searches (HTTP 200)", "rate limit"),
    (Reply("slow down", 429), "limits automatic searches (HTTP 429)", "rate limit"),
    (Reply("oops", 500), "HTTP 500", "server"),
    (Reply(""), "empty page", "unreadable"),
    (Reply(DUCK_NOTHING), "duckduckgo found nothing", "nothing"),
    (Reply(DUCK, seconds=2.0), "duckduckgo did not answer", "timeout"),
    (Reply(DUCK, length=100_000), "duckduckgo", None),
]


@pytest.mark.parametrize(("reply", "problem", "kind"), DUCK_FAILURES, ids=[f[1] for f in DUCK_FAILURES])
async def test_duckduckgos_refusals_are_told_apart(
    server: Server, reply: Reply, problem: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.play(duckduckgo=reply)
    outcome = await search(server, timeouts={"search": 0.3 if reply.seconds else 8.0}, search_engines=("duckduckgo",))
    (failure,) = outcome.failures
    assert problem in failure.problem
    assert kind is None or failure.kind == kind
    assert SECRET not in caplog.text + str(outcome.error)


async def test_a_page_in_another_encoding_than_it_says_is_still_read(server: Server) -> None:
    server.play(duckduckgo=Reply(DUCK.encode("cp1252")))
    results = (await search(server, search_engines=("duckduckgo",))).results
    assert [result.title for result in results] == ["Ants & bees", "Two"]
    server.play(duckduckgo=Reply(DUCK.encode("cp1252"), kind="text/html; charset=windows-1252"))
    results = (await search(server, search_engines=("duckduckgo",))).results
    assert results[0].content == "Café ants < 5 mm — naïve"


async def test_searxng_without_json_says_what_to_set(server: Server) -> None:
    server.play(searxng=Reply("Forbidden", 403))
    assert "must list json under search.formats" in str((await search(server, search_engines=("searxng",))).error)
    server.play(searxng=Reply({**SEARXNG, "results": [], "unresponsive_engines": [["google", "CAPTCHA"]]}))
    outcome = await search(server, search_engines=("searxng",))
    assert "the engines behind it do not respond" in str(outcome.error)


async def test_an_answer_of_many_megabytes_is_given_up(server: Server) -> None:
    server.play(brave=Reply(b" " * 1_000_000, kind="application/json", length=50_000_000, repeat=50))
    outcome = await search(server, search_engines=("brave",))
    assert "larger than" in str(outcome.error)


@pytest.mark.parametrize(
    ("made", "variables"),
    [
        (Tavily, {"TAVILY_API_KEY": "k"}),
        (Google, {"GOOGLE_API_KEY": "k", "GOOGLE_CSE_ID": "cx"}),
        (Brave, {"BRAVE_SEARCH_API_KEY": "k"}),
        (SearXNG, {"SEARX_HOST": "http://127.0.0.1:1"}),
    ],
)
def test_keys_may_come_from_the_usual_variables(
    monkeypatch: pytest.MonkeyPatch, made: Any, variables: dict[str, str]
) -> None:
    assert not made().available()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert made().available()


async def test_engines_that_cannot_be_used_say_what_they_need() -> None:
    settings = Settings(search_engines=("tavily", "altavista", "google", "searxng", "brave", "nowhere.at:All"))
    answer = await search_web("ants", settings)
    assert [failure.kind for failure in answer.failures] == ["unavailable"] * 6
    for words in ("tavily needs a key", "Unknown search engine 'altavista'", "google needs a key", "searxng needs an"):
        assert words in str(answer.error)
    assert (await search_web("  ", settings)).error == "The web was not searched: there is nothing to search for."
    with pytest.raises(SearchError, match="everthread knows tavily, duckduckgo, google, searxng, brave"):
        engine("altavista")


async def test_without_the_packages_of_web_search_the_turn_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web_search, "find_spec", lambda name: None if name == "trafilatura" else object())
    answer = await search_web("ants", Settings(search_engines=("duckduckgo",)))
    assert "duckduckgo needs packages that are missing: pip install 'everthread[search]'" in str(answer.error)
