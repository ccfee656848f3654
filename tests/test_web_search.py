"""The node `web_search`: the real clients of Tavily and DuckDuckGo against a server on loopback that plays theirs."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest
from langchain_core.messages import HumanMessage

from everthread.nodes.web_search import search_for
from everthread.search.cleaning import clean_results, cut, page_url, plain_text, url_key
from everthread.search.duckduckgo import DuckDuckGo
from everthread.search.engines import engine
from everthread.search.run import search_web
from everthread.search.tavily import Tavily
from everthread.state.errors import SearchError
from everthread.state.search_records import SearchOutcome, SearchResult
from everthread.state.settings import Settings

SECRET = "zebra-4711"
"""Part of every query here; it must not show up in a log."""

TAVILY_PAGE = {
    "query": "q", "follow_up_questions": None, "answer": None, "images": [],
    "results": [
        {"url": "https://example.org/a?utm_source=x", "title": "Ants &amp; bees", "score": 0.9, "raw_content": None,
         "content": "<p>Ants <b>live</b>&nbsp;in\n\n hills.</p><script>x()</script>", "published_date": "2026-01-02"},
        {"url": "http://www.example.org/a/#top", "title": "The same page", "content": "again", "score": 0.8},
        {"url": "javascript:alert(1)", "title": "no page", "content": "x", "score": 0.7},
        {"url": "https://example.org/b", "title": "B", "content": "word " * 2000, "score": 0.6},
    ],
    "response_time": 1.2, "request_id": "r",
}  # fmt: skip
TAVILY_NOTHING = {**TAVILY_PAGE, "results": []}
DUCK_RESULT = """
<div class="result results_links results_links_deep web-result ">
  <div class="links_main links_deep result__body">
    <h2 class="result__title"><a rel="nofollow" class="result__a" href="{href}">{title}</a></h2>
    <div class="result__extras"><a class="result__url" href="{href}">shown</a></div>
    <a class="result__snippet" href="{href}">{snippet}</a>
    <div class="clear"></div>
  </div>
</div>"""
DUCK_PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>q at DuckDuckGo</title></head>'
    '<body class="body--html"><div><div class="serp__results"><div id="links" class="results">'
    + DUCK_RESULT.format(href="https://duckduckgo.com/y.js?ad_domain=shop.example", title="An ad", snippet="Buy ants")
    + DUCK_RESULT.format(
        href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.net%2Fants%3Fa%3D1&amp;rut=0a1b",
        title="Ants &amp; <b>bees</b>",
        snippet="Caf&eacute; <b>ants</b> &lt; 5&nbsp;mm — naïve",
    )
    + DUCK_RESULT.format(href="https://example.net/two", title="Two", snippet="Second")
    + "</div></div></div></body></html>"
)
DUCK_NOTHING = (
    '<html><body><div id="links" class="results"><div class="result results_links results_links_deep '
    'result--no-result"><div class="links_main links_deep result__body"><div class="no-results">No results.</div>'
    "</div></div></div></body></html>"
)
DUCK_CHALLENGE = (
    '<html><body><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></body></html>'
)


class Reply:
    """What the server sends for one path."""

    def __init__(self, body: bytes | str | dict[str, Any], status: int = 200, **more: Any) -> None:
        self.body = (
            json.dumps(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body
        )
        self.status = status
        self.seconds: float = more.get("seconds", 0.0)
        self.kind: str = more.get("kind", "application/json" if isinstance(body, dict) else "text/html; charset=UTF-8")
        self.length: int = more.get("length", len(self.body))


class Server(ThreadingHTTPServer):
    """Plays both engines; keeps what it was asked."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tavily = Reply(TAVILY_PAGE)
        self.duck = Reply(DUCK_PAGE)
        self.asked: list[tuple[str, dict[str, str], str]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """One request; the path says which engine is asked."""

    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        self.server.asked.append((self.path, dict(self.headers), body))
        reply = self.server.tavily if self.path == "/search" else self.server.duck
        time.sleep(reply.seconds)
        try:
            self.send_response(reply.status)
            self.send_header("content-type", reply.kind)
            self.send_header("content-length", str(reply.length))
            self.end_headers()
            self.wfile.write(reply.body)
        except OSError:
            pass  # the client gave up

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _no_proxy_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "tavily_http_proxy", "tavily_https_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("TAVILY_API_KEY", "EVERTHREAD_TAVILY_API_KEY", "DDGS_PROXY"):
        monkeypatch.delenv(name, raising=False)


async def search(server: Server, query: str = f"ants {SECRET}", **settings: Any) -> SearchOutcome:
    chosen = Settings(**{"tavily_api_key": "tvly-test", **settings})
    engines = {
        "tavily": Tavily(chosen, base_url=server.url),
        "duckduckgo": DuckDuckGo(chosen, search_url=f"{server.url}/html/"),
    }
    outcome = SearchOutcome(decided_by="keywords", needed=True, reason="r", query=query)
    return await search_for({"messages": [HumanMessage("m")], "search": outcome}, chosen, engines)


async def test_tavily_results_are_cleaned_and_each_page_comes_once(server: Server) -> None:
    outcome = await search(server)
    assert (outcome.engine, outcome.error, outcome.reason) == ("tavily", None, "r")
    first, second = outcome.results
    assert first == SearchResult(
        title="Ants & bees", url="https://example.org/a?utm_source=x", content="Ants live in hills.",
        engine="tavily", published="2026-01-02",
    )  # fmt: skip
    assert second.url == "https://example.org/b"
    assert second.content.endswith("word…")
    assert len(second.content) <= 1500
    (path, headers, body), *more = server.asked
    assert not more
    assert path == "/search"
    assert headers["authorization" if "authorization" in headers else "Authorization"] == "Bearer tvly-test"
    assert json.loads(body) == {"query": f"ants {SECRET}", "search_depth": "basic", "max_results": 3}


async def test_without_a_key_duckduckgo_is_asked(server: Server) -> None:
    outcome = await search(server, tavily_api_key=None)
    assert (outcome.engine, outcome.error) == ("duckduckgo", None)
    first, second = outcome.results
    assert first.url == "https://example.net/ants?a=1"
    assert (first.title, first.content) == ("Ants & bees", "Café ants < 5 mm — naïve")
    assert (second.title, second.content, second.engine) == ("Two", "Second", "duckduckgo")
    assert [path for path, _, _ in server.asked] == ["/html/"]
    assert parse_qs(server.asked[0][2])["q"] == [f"ants {SECRET}"]


async def test_the_key_may_come_from_tavilys_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Tavily(Settings()).available()
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-env")
    assert Tavily(Settings()).available()


async def test_max_results_is_kept(server: Server) -> None:
    assert len((await search(server, max_results=1)).results) == 1
    assert len((await search(server, max_results=1, search_engines=("duckduckgo",))).results) == 1


TAVILY_FAILURES = [
    (Reply({"detail": {"error": "too many"}}, 429), "rate limit"),
    (Reply({"detail": {"error": "Unauthorized: missing or invalid API key."}}, 401), "does not accept the key"),
    (Reply({"detail": {"error": "plan limit"}}, 432), "plan's limit"),
    (Reply({"detail": {"error": "bad"}}, 400), "HTTP 400"),
    (Reply("<h1>oops</h1>", 500), "HTTP 500"),
    (Reply({"detail": "accepted"}, 202), "neither results"),
    (Reply(json.dumps(TAVILY_PAGE)[:200], kind="application/json"), "no valid JSON"),
    (Reply(json.dumps(TAVILY_PAGE), length=100_000), "broke off"),
    (Reply('{"results": [{"title": "Café"}]}'.encode("latin-1"), kind="application/json"), "no valid JSON"),
    (Reply("[]", kind="application/json"), "nor a known refusal"),
    (Reply({"results": "none"}), "no list of results"),
    (Reply(TAVILY_NOTHING), "tavily found nothing"),
    (Reply(TAVILY_PAGE, seconds=2.0), "tavily did not answer"),
]


@pytest.mark.parametrize(("reply", "problem"), TAVILY_FAILURES, ids=[problem for _, problem in TAVILY_FAILURES])
async def test_where_tavily_fails_duckduckgo_answers(
    server: Server, reply: Reply, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.tavily = reply
    seconds = 0.6 if reply.seconds else 5.0
    outcome = await search(server, search_timeout=seconds)
    assert (outcome.engine, outcome.error) == ("duckduckgo", None)
    alone = await search(server, search_timeout=seconds / 2, search_engines=("tavily",))
    assert (alone.engine, alone.results) == (None, ())
    assert alone.error is not None
    assert problem in alone.error
    assert alone.error.endswith(".")
    assert SECRET not in caplog.text + alone.error


DUCK_FAILURES = [
    (Reply(DUCK_CHALLENGE, 202), "limits automatic searches (HTTP 202)"),
    (Reply(DUCK_CHALLENGE, 200), "limits automatic searches (HTTP 200)"),
    (Reply("slow down", 429), "limits automatic searches (HTTP 429)"),
    (Reply("oops", 500), "HTTP 500"),
    (Reply(""), "empty page"),
    (Reply(DUCK_NOTHING), "duckduckgo found nothing"),
    (Reply(DUCK_PAGE, seconds=2.0), "duckduckgo did not answer"),
    (Reply(DUCK_PAGE, length=100_000), "duckduckgo"),
]


@pytest.mark.parametrize(("reply", "problem"), DUCK_FAILURES, ids=[problem for _, problem in DUCK_FAILURES])
async def test_where_duckduckgo_fails_tavily_answers(
    server: Server, reply: Reply, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.duck = reply
    seconds = 0.6 if reply.seconds else 5.0
    outcome = await search(server, search_timeout=seconds, search_engines=("duckduckgo", "tavily"))
    assert (outcome.engine, outcome.error) == ("tavily", None)
    alone = await search(server, search_timeout=seconds / 2, search_engines=("duckduckgo",))
    assert (alone.engine, alone.results) == (None, ())
    assert alone.error is not None
    assert problem in alone.error
    assert SECRET not in caplog.text + alone.error


async def test_a_page_in_another_encoding_than_it_says_is_still_read(server: Server) -> None:
    server.duck = Reply(DUCK_PAGE.encode("cp1252"))
    results = (await search(server, search_engines=("duckduckgo",))).results
    assert [result.title for result in results] == ["Ants & bees", "Two"]
    server.duck = Reply(DUCK_PAGE.encode("cp1252"), kind="text/html; charset=windows-1252")
    results = (await search(server, search_engines=("duckduckgo",))).results
    assert results[0].content == "Café ants < 5 mm — naïve"


async def test_when_all_fail_the_error_names_each(server: Server) -> None:
    server.tavily, server.duck = Reply("x", 500), Reply("x", 429)
    error = (await search(server)).error
    assert error == (
        "The web search brought nothing: tavily answered with HTTP 500; "
        "duckduckgo refuses for now: it limits automatic searches (HTTP 429)."
    )


async def test_all_engines_together_stay_within_the_time(server: Server) -> None:
    server.tavily, server.duck = Reply(TAVILY_PAGE, seconds=3), Reply(DUCK_PAGE, seconds=3)
    start = time.perf_counter()
    outcome = await search(server, search_timeout=0.3)
    assert time.perf_counter() - start < 1.5
    assert outcome.error is not None
    assert "tavily did not answer" in outcome.error
    assert "duckduckgo did not answer" in outcome.error


async def test_nothing_listens() -> None:
    closed = Server()
    closed.server_close()
    error = (await search(closed)).error
    assert error == "The web search brought nothing: tavily cannot be reached; duckduckgo cannot be reached."


async def test_engines_that_cannot_be_used_say_what_they_need() -> None:
    settings = Settings(search_engines=("tavily", "altavista"))
    assert await search_web("ants", settings) == (
        None,
        [],
        "The web search brought nothing: tavily needs a key in EVERTHREAD_TAVILY_API_KEY or TAVILY_API_KEY; "
        "Unknown search engine 'altavista': everthread knows tavily and duckduckgo.",
    )
    assert (await search_web("  ", settings))[2] == "The web was not searched: there is nothing to search for."
    with pytest.raises(SearchError, match="everthread knows tavily and duckduckgo"):
        engine("altavista", settings)


async def test_an_engine_that_breaks_the_rules_does_not_fail_the_turn(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        name = "broken"

        def available(self) -> bool:
            return True

        async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
            raise SearchError(f"cannot find {query}")

    found = await search_web(SECRET, Settings(search_engines=("broken",)), {"broken": Broken()})
    assert found == (None, [], f"The web search brought nothing: broken: cannot find {SECRET}.")
    assert SECRET not in caplog.text


async def test_cancelling_the_turn_cancels_the_search(server: Server) -> None:
    server.tavily = Reply(TAVILY_PAGE, seconds=1)
    task = asyncio.create_task(search(server))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("a < b and b > c", "a < b and b > c"),
        ("use List<String> or <your-name>", "use List<String> or <your-name>"),
        ("<p>one</p><p>two</p>", "one two"),
        ("x<style>p{}</style>y<!-- note -->z", "xyz"),
        ("&lt;b&gt; &#8364;5 &nbsp; AT&T", "<b> €5 AT&T"),
        ("nul\x00 and \ud800", "nul and \ufffd"),
        ("<script>never closed", ""),
        ("<svg/>after", "after"),
    ],
)
def test_plain_text(raw: str, plain: str) -> None:
    assert plain_text(raw) == plain


def test_plain_text_of_hostile_markup_is_quick() -> None:
    start = time.perf_counter()
    for hostile in ("<", "<a ", "<!--", "&", "<script>", "</", "<b <", "&#"):
        plain_text(hostile * 100_000)
    assert time.perf_counter() - start < 5


def test_cut_at_a_word() -> None:
    assert cut("one two three", 9) == "one two…"
    assert cut("one two", 7) == "one two"
    assert cut("天" * 20, 5) == "天天天天…"


@pytest.mark.parametrize(
    "url", ["", "javascript:x", "ftp://a/b", "https://", "https://[bad", "https://a b", "https://duckduckgo.com/y.js?x"]
)
def test_what_is_no_page(url: str) -> None:
    assert page_url(url) is None


def test_pages_are_the_same_behind_their_addresses() -> None:
    assert url_key("https://www.Example.org:443/a/?b=2&a=1&utm_medium=z#x") == url_key("http://example.org/a?a=1&b=2")
    assert url_key("https://example.org/a") != url_key("https://example.org/A")
    assert url_key("https://example.org:99999/") != url_key("https://example.org/a")


def test_a_result_needs_a_text() -> None:
    bare = SearchResult(title="", url="https://example.org", content=" ", engine="e")
    assert clean_results([bare], 3) == []
    named = bare.model_copy(update={"content": "x"})
    assert clean_results([named], 3)[0].title == "https://example.org"
