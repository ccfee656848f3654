"""The page under a LangGraph server: each user sees what is theirs; without authentication, `user_id` says whose."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from clients.dev_server import server
from command import EVERTHREAD, run
from langchain_core.embeddings import Embeddings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from test_server import project
from web_page import HOST, read
from web_story import small_graph, told

from everthread.graph.conversation import Conversation
from everthread.server import page as module
from everthread.server.page import PATH, page

__all__ = ["project"]


@pytest.fixture
async def graph(tmp_path: Path, embeddings: Embeddings) -> AsyncIterator[Conversation]:
    async with small_graph(tmp_path, embeddings) as opened:
        await told(opened)
        yield opened


class SignedIn:
    """A server's authentication: who has the header is who it says."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        name = dict(scope.get("headers", ())).get(b"x-user", b"").decode()
        await self._app({**scope, "user": SimpleNamespace(identity=name)}, receive, send)


async def mounted(graph: Conversation, *, is_authenticated: bool) -> httpx.AsyncClient:
    """A client of a server with the page."""
    route = await asyncio.to_thread(page, graph.resources, is_authenticated=is_authenticated)
    app = Starlette(routes=[route], middleware=[Middleware(SignedIn)] if is_authenticated else [])
    headers = {"Sec-Fetch-Site": "same-origin"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOST, headers=headers)


async def test_whom_the_server_knows_sees_what_is_theirs_whatever_the_address_says(graph: Conversation) -> None:
    client = await mounted(graph, is_authenticated=True)
    first = await client.get(f"{PATH}/", headers={"x-user": "ada"})
    assert first.headers["location"] == f"{PATH}/threads"
    client.headers["x-user"] = "ada"
    listed = await read(client, f"{PATH}/threads")
    assert "At home" in listed
    assert f'href="{PATH}/static/web.css' in listed
    assert f'href="{PATH}/thread?id=home' in listed
    settings = await read(client, f"{PATH}/settings")
    assert "max_facts" in settings
    assert "database_url" not in settings, "the operator's settings are not the users' to see"
    asked = await read(client, f"{PATH}/forget", thread="work")
    assert 'name="prove"' not in asked
    client.headers["x-user"] = "eve"
    assert "At home" not in await read(client, f"{PATH}/threads", user_id="ada")
    assert (await client.get(f"{PATH}/thread", params={"id": "home", "user_id": "ada"})).status_code == 404
    refused = await client.post(f"{PATH}/forget/now", data={"thread": "home", "user_id": "ada"})
    assert refused.status_code == 404
    crossed = await client.post(f"{PATH}/forget/now", data={"all": "1"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert crossed.status_code == 403


async def test_without_authentication_the_address_says_whose_memory_it_is_and_no_other_sites_name_opens_it(
    graph: Conversation,
) -> None:
    client = await mounted(graph, is_authenticated=False)
    assert "At home" in await read(client, f"{PATH}/threads", user_id="ada")
    assert "At home" in await read(client, f"{PATH}/threads")
    assert "At home" not in await read(client, f"{PATH}/threads", user_id="élan ✓")
    page_of_other = await read(client, f"{PATH}/facts")
    assert "Memory of <bdi>élan ✓</bdi>" in page_of_other
    assert (await client.get(f"{PATH}/threads", headers={"Host": "evil.example"})).status_code == 421
    assert (await client.get(f"{PATH}/threads", headers={"Host": "192.168.1.7:2024"})).status_code == 200


async def test_where_the_packages_are_missing_the_address_says_what_to_install(
    graph: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    answer = await (await mounted(graph, is_authenticated=True)).get(f"{PATH}/threads")
    assert (answer.status_code, answer.text) == (
        501, "The page needs packages that are missing: pip install 'everthread[web]'."
    )  # fmt: skip


@pytest.mark.slow
def test_the_served_page_shows_what_the_terminal_said(project: Path, environment: dict[str, str]) -> None:
    done = run(environment, "chat", "--thread", "work", typed="My dog is called Biscuit.\n")
    assert done.returncode == 0, done.stderr
    with server(project, environment) as url:
        listed = httpx.get(f"{url}{PATH}/threads")
        assert listed.status_code == 200
        assert "work" in listed.text
        assert f'href="{PATH}/static/web.css' in listed.text
        assert "My dog is called Biscuit." in httpx.get(f"{url}{PATH}/search", params={"q": "dog"}).text
        assert httpx.post(f"{url}{PATH}/forget/now", data={"all": "1", "sure": "default"}).status_code == 403


@pytest.mark.slow
def test_the_command_prints_a_link_that_opens_the_page_until_it_is_stopped(environment: dict[str, str]) -> None:
    words = [EVERTHREAD, "web", "--port", "0"]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            link = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())
            assert link is not None
            with httpx.Client() as client:
                assert client.get(link[0]).status_code == 200
                assert "Conversations" in client.get(link[0].partition("?")[0] + "threads").text
            assert httpx.get(link[0]).status_code == 401
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) in {0, 130}
