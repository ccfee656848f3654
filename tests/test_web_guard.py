"""Who may see the page: the link once, then the cookie; no other site's page reads or writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from web_page import HOST, TOKEN, entered, visitor

from everthread.graph.conversation import Conversation
from everthread.graph.open import open_graph
from everthread.settings.settings import Settings
from everthread.web.app import READING, WRITING, web_app
from everthread.web.guard import is_address, is_loopback


@pytest.fixture
async def graph(tmp_path: Path, settings: Settings, embeddings: Embeddings) -> AsyncIterator[Conversation]:
    where = settings.but(database_url="sqlite", data_dir=tmp_path)
    async with open_graph(where, embeddings=embeddings) as opened:
        yield opened


@pytest.fixture
async def app(graph: Conversation) -> Any:
    return await asyncio.to_thread(web_app, graph, lambda _: "ada", token=TOKEN)


async def test_the_link_opens_once_and_its_cookie_is_for_the_server_alone(app: Any) -> None:
    async with visitor(app) as client, visitor(app) as late:
        for path in ("/", *(f"/{path}" for path in READING)):
            assert (await client.get(path)).status_code == 401, path
        assert (await client.get("/", params={"token": "guessed"})).status_code == 401
        answer = await client.get("/", params={"token": TOKEN})
        cookie = answer.headers["set-cookie"]
        assert TOKEN not in cookie
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
        assert (await client.get("/threads")).status_code == 200
        assert (await late.get("/", params={"token": TOKEN})).status_code == 401
        assert (await late.get("/static/web.css")).status_code == 200


@pytest.mark.parametrize("path", ["/threads", "/nowhere", "/static/web.css", "/static/../app.py"])
async def test_every_answer_has_the_policy(graph: Conversation, path: str) -> None:
    async with entered(graph) as client:
        answer = await client.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == ("no-cache" if path == "/static/web.css" else "no-store")


async def test_no_template_needs_what_the_policy_forbids() -> None:
    from everthread.web.visit import TEMPLATES

    for file in TEMPLATES.iterdir():
        text = file.read_text()
        for forbidden in (" style=", "<style", "onclick", "javascript:", "hx-on", "|safe", "autoescape", "http://"):
            assert forbidden not in text.replace("http://www.w3.org", ""), (file.name, forbidden)
        assert text.count("<script") == text.count("<script src=")


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": HOST},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9999"},
        {},
    ],
)
async def test_another_sites_form_changes_nothing(graph: Conversation, headers: dict[str, str]) -> None:
    async with entered(graph) as client:
        del client.headers["Sec-Fetch-Site"]
        for path in WRITING:
            answer = await client.post(f"/{path}", headers=headers, data={"id": "x"})
            assert answer.status_code == 403, path


async def test_a_form_of_the_page_itself_passes_with_either_header(graph: Conversation) -> None:
    async with entered(graph) as client:
        del client.headers["Sec-Fetch-Site"]
        for headers in ({"Origin": HOST}, {"Sec-Fetch-Site": "same-origin", "Origin": "null"}):
            assert (await client.post("/summary/again", headers=headers)).status_code == 404  # it names no summary


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8766", "localhost.evil.example", "", "[::1", "10.0.0.1"]
)
async def test_a_name_that_points_here_is_refused(graph: Conversation, host: str) -> None:
    async with entered(graph) as client:
        assert (await client.get("/threads", headers={"Host": host})).status_code == 421


def test_which_names_are_this_machines() -> None:
    assert all(map(is_loopback, ("localhost", "localhost:1", "127.0.0.1:8766", "127.8.8.8", "[::1]:80", "LOCALHOST")))
    assert not any(map(is_loopback, ("example.org", "10.0.0.1", "127.0.0.1.evil.example", "localhost@evil.example:1")))
    assert is_address("10.0.0.1:8123")
    assert not is_address("evil.example")
