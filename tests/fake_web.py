"""What tests of web search share: a server on loopback that plays the engines, and searches with the real clients."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from langchain_core.messages import HumanMessage
from serving import serving

from everthread.search.brave import Brave
from everthread.search.breaker import Breakers, process_breakers
from everthread.search.duckduckgo import DuckDuckGo
from everthread.search.google import Google
from everthread.search.searxng import SearXNG
from everthread.search.tavily import Tavily
from everthread.search.turn_search import search_for
from everthread.settings.settings import Settings
from everthread.state.search_records import SearchOutcome

SECRET = "zebra-4711"
"""Part of every query here; it must not show up in a log."""

_VARIABLES = (
    "TAVILY_API_KEY", "DDGS_PROXY", "GOOGLE_API_KEY", "GOOGLE_CSE_ID", "SEARXNG_URL",
    "SEARX_HOST", "BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY", "http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY",
    "HTTPS_PROXY", "ALL_PROXY",
)  # fmt: skip
"""Variables that would change what is tested."""

TAVILY = {
    "query": "q", "follow_up_questions": None, "answer": None, "images": [],
    "results": [
        {"url": "https://example.org/a?utm_source=x", "title": "Ants &amp; bees", "score": 0.9, "raw_content": None,
         "content": "<p>Ants <b>live</b>&nbsp;in\n\n hills.</p><script>x()</script>", "published_date": "2026-01-02"},
        {"url": "http://www.example.org/a/#top", "title": "The same page", "content": "again", "score": 0.8},
        {"url": "javascript:alert(1)", "title": "no page", "content": "x", "score": 0.7},
        {"url": "https://example.org/b", "title": "B", "content": "word " * 200, "score": 0.6},
    ],
    "response_time": 1.2, "request_id": "r",
}  # fmt: skip
DUCK_RESULT = """
<div class="result results_links results_links_deep web-result ">
  <div class="links_main links_deep result__body">
    <h2 class="result__title"><a rel="nofollow" class="result__a" href="{href}">{title}</a></h2>
    <div class="result__extras"><a class="result__url" href="{href}">shown</a></div>
    <a class="result__snippet" href="{href}">{snippet}</a>
    <div class="clear"></div>
  </div>
</div>"""
DUCK = (
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
GOOGLE = {
    "kind": "customsearch#search", "url": {"type": "application/json"}, "queries": {"request": [{"count": 2}]},
    "searchInformation": {"searchTime": 0.2, "totalResults": "2"},
    "items": [
        {"kind": "customsearch#result", "title": "Ants", "link": "https://example.org/ants", "snippet": "Ants live",
         "htmlSnippet": "<b>Ants</b> live&nbsp;in hills", "displayLink": "example.org",
         "pagemap": {"metatags": [{"article:published_time": "2026-03-04T05:06:07Z"}]}},
        {"kind": "customsearch#result", "title": "Bees", "link": "https://example.org/bees", "snippet": "Bees fly"},
    ],
}  # fmt: skip
SEARXNG = {
    "query": "q", "number_of_results": 0,
    "results": [
        {"url": "https://example.org/ants", "title": "Ants", "content": "Ants live in hills", "engine": "bing",
         "engines": ["bing", "mojeek"], "score": 4.0, "category": "general", "publishedDate": "2026-03-04T00:00:00"},
        {"url": "https://example.com/wasps", "title": "Wasps", "content": "Wasps sting", "publishedDate": None},
    ],
    "answers": [], "corrections": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": [],
}  # fmt: skip
BRAVE = {
    "type": "search", "query": {"original": "q", "more_results_available": True}, "mixed": {},
    "web": {"type": "search", "results": [
        {"title": "Ants", "url": "https://example.org/ants", "description": "Ants <strong>live</strong> in hills",
         "page_age": "2026-03-04T05:06:07", "age": "March 4, 2026", "extra_snippets": ["They dig.", "They carry."]},
        {"title": "Termites", "url": "https://example.com/termites", "description": "Termites eat wood",
         "age": "3 days ago"},
    ]},
}  # fmt: skip


class Reply:
    """What the server sends for one path: `seconds` late, and with a `length` that may be a lie."""

    def __init__(self, body: bytes | str | dict[str, Any], status: int = 200, **more: Any) -> None:
        text = json.dumps(body) if isinstance(body, dict) else body
        self.body = text.encode() if isinstance(text, str) else text
        self.status = status
        self.seconds: float = more.get("seconds", 0.0)
        kind = more.get("kind", "application/json" if isinstance(body, dict) else "text/html; charset=UTF-8")
        self.headers = {"content-type": kind, "content-length": str(more.get("length", len(self.body)))}
        self.headers |= more.get("headers", {})
        self.repeat: int = more.get("repeat", 1)


class Server(ThreadingHTTPServer):
    """Answers by path; of several replies to one path, one after the other, the last for good."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.replies: dict[str, list[Reply]] = {}
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.play(tavily=Reply(TAVILY), duckduckgo=Reply(DUCK), google=Reply(GOOGLE), brave=Reply(BRAVE))
        self.play(searxng=Reply(SEARXNG))

    def play(self, **engines: Reply | list[Reply]) -> None:
        """What an engine answers with."""
        for engine, replies in engines.items():
            self.replies[PATHS[engine]] = replies if isinstance(replies, list) else [replies]

    def requests(self, engine: str) -> list[dict[str, Any]]:
        """What an engine was asked, in order."""
        return [asked for path, _, asked in self.asked if path == PATHS[engine]]


PATHS = {
    "tavily": "/search", "duckduckgo": "/html/", "google": "/customsearch/v1", "searxng": "/searx/search",
    "brave": "/res/v1/web/search",
}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self._answer(json.loads(body) if body.startswith("{") else form)

    def do_GET(self) -> None:
        self._answer({name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()})

    def _answer(self, asked: dict[str, Any]) -> None:
        path = urlsplit(self.path).path
        self.server.asked.append((path, {name.lower(): value for name, value in self.headers.items()}, asked))
        replies = self.server.replies.get(path) or [Reply("not here", 404)]
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        time.sleep(reply.seconds)
        try:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            for _ in range(reply.repeat):
                self.wfile.write(reply.body)
        except OSError:
            pass  # the client gave up

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


@contextmanager
def running_server() -> Iterator[Server]:
    """The server, while it runs."""
    with serving(Server(), poll_interval=0.01) as server:
        yield server


def without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the keys of engines and the proxies of this machine out of the environment."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)


@contextmanager
def lone_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The server, while it runs, in a process without these variables that knows of no engine that failed."""
    without_variables(monkeypatch)
    process_breakers.clear()
    with running_server() as server:
        yield server


def engines_of(server: Server, *, google: str = "cx-test", **keys: str) -> dict[str, Any]:
    """The real engines, pointed at the server; `google` is the id of its engine, `keys` are by the engine's name."""
    return {
        "tavily": Tavily(keys.get("tavily", "tvly-test"), base_url=server.url),
        "duckduckgo": DuckDuckGo(search_url=f"{server.url}/html/"),
        "google": Google("g-test", google, base_url=server.url),
        "searxng": SearXNG(base_url=f"{server.url}/searx"),
        "brave": Brave("b-test", base_url=server.url),
    }


async def search(
    server: Server,
    query: str | None = f"ants {SECRET}",
    *,
    message: str = "m",
    private: tuple[str, ...] = (),
    breakers: Breakers | None = None,
    cache: Any = None,
    pages: Any = None,
    engines: Any = None,
    **settings: Any,
) -> SearchOutcome:
    """One search through the node's function; no breaker is shared unless one is given."""
    outcome = SearchOutcome(decided_by="keywords", needed=True, reason="r", query=query)
    return await search_for(
        {"messages": [HumanMessage(message)], "search": outcome},
        Settings(**settings),
        engines or engines_of(server),
        private=private,
        cache=cache,
        breakers=breakers or Breakers(),
        pages=pages,
    )
