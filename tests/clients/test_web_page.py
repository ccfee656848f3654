"""The page in headless Chromium, on a real database: it works by hand and by keyboard, axe finds nothing, nothing runs.

`PAGE_PICTURES=docs/web` has the pictures of the docs taken again.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from clients.agent_chat_ui import browser
from clients.node_programs import NodeProgram, node_program
from fakes.embeddings import WORDS
from web_page import TOKEN
from web_story import HOSTILE, story_graph, told, told_hostile, told_long

from everthread.settings.settings import Settings
from everthread.web.app import web_app

pytestmark = pytest.mark.clients

PICTURES = os.environ.get("PAGE_PICTURES", "")

PAGES = {
    "conversations": "/threads",
    "conversation": "/thread?id=home",
    "branches": "/thread?id=home&left=1",
    "pages": "/thread?id=long&at=q60",
    "turn": "/turn?thread=trams&turn=1",
    "prompt": "/prompt?thread=home&q=What+is+my+dog+called%3F",
    "search": "/search?q=What+is+my+dog+called%3F",
    "facts": "/facts",
    "timeline": "/facts?view=timeline&state=all",
    "summaries": "/summaries?thread=home",
    "forget": "/forget?thread=work",
    "forgotten": "/forget",
    "figures": "/plots",
    "transfer": "/transfer",
    "settings": "/settings",
}


@pytest.fixture(scope="module")
def page(server_url: str, schemas: Any) -> Iterator[NodeProgram]:
    """A browser that came in by the link, on the story in Postgres."""
    chromium = browser()
    with schemas.migrated() as schema:
        settings = Settings(database_url=server_url, database_schema=schema, summary_model="extractive", user_id="ada")
        with served(settings) as url, node_program("web_page.mjs", f"{url}/?token={TOKEN}", chromium) as program:
            assert program("enter").endswith("/threads")
            yield program


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """The address of the page, served from a thread of its own."""
    listening = socket.create_server(("127.0.0.1", 0))
    server: list[uvicorn.Server] = []
    ready = threading.Event()

    async def serve() -> None:
        async with story_graph(settings, WORDS) as graph:
            await told(graph)
            if not PICTURES:
                await told_hostile(graph)
                await told_long(graph)
            app = await asyncio.to_thread(web_app, graph, lambda _: settings.user_id, token=TOKEN)
            server.append(uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")))
            ready.set()
            await server[0].serve(sockets=[listening])

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(240)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server[0].should_exit = True
        thread.join(60)


@pytest.mark.parametrize("name", PAGES)
def test_each_page_opens_without_complaint_and_for_everybody(page: NodeProgram, name: str) -> None:
    if name == "pages" and PICTURES:
        return
    for size, scheme in (("desk", "light"), ("desk", "dark"), ("phone", "light")):
        assert page("open", path=PAGES[name], size=size, scheme=scheme) == 200
        assert [found for found in page("axe") if found["impact"] in {"serious", "critical", "moderate"}] == []
        wide, window = page("width")
        assert wide <= window, "nothing is cut off on a phone"
    assert page("complaints") == []
    if PICTURES:
        take_pictures(page, name, Path(PICTURES))


def take_pictures(page: NodeProgram, name: str, folder: Path) -> None:
    """The pictures of the docs: each page, one of them dark, one as on a phone."""
    folder.mkdir(exist_ok=True)
    kinds = [("", "picture", "light")]
    kinds += [("-dark", "picture", "dark"), ("-phone", "phone", "light")] if name == "conversation" else []
    for ending, size, scheme in kinds:
        page("open", path=PAGES[name], size=size, scheme=scheme)
        if ending == "-dark":
            page("click", selector="details.why > summary")
            page("wait", selector="details.why[open] .report")
        page("picture", file=str((folder / f"{name}{ending}.png").resolve()))


def test_a_turn_and_a_summary_unfold_in_their_place(page: NodeProgram) -> None:
    page("open", path="/thread?id=home")
    page("click", selector="details.why > summary")
    page("wait", selector="details.why[open] .report")
    (report,) = page("text", selector="details.why[open] .report")
    assert "The prompt" in report
    assert "My name is Ada" in report
    page("click", selector="details.summary > summary")
    page("wait", selector="details.summary[open] .below .quote")
    below = page("text", selector="details.summary[open] .below")[0]
    assert "in the conversation" in below
    page("open", path="/summaries?thread=home")
    inner = "details.summary"
    for _ in range(3):  # from the master down to what was said
        page("click", selector=f"{inner} > summary")
        page("wait", selector=f"{inner}[open] > .below > *:not(p.small)")
        inner += " .below details.summary"
    assert page("complaints") == []


def test_the_keyboard_reaches_what_the_mouse_does(page: NodeProgram) -> None:
    page("open", path="/threads")
    assert page("press", keys=["Tab"]) == ["A", "To the content"]
    page("press", keys=["Enter"])
    reached = [page("press", keys=["Tab"])[0] for _ in range(4)]
    assert reached[:2] == ["INPUT", "BUTTON"]
    assert "A" in reached
    page("open", path="/thread?id=home")
    for _ in range(60):
        kind, text = page("press", keys=["Tab"])
        if kind == "SUMMARY" and "Why this reply" in text:
            break
    page("press", keys=["Enter"])
    page("wait", selector="details.why[open] .report")


def test_a_fact_is_corrected_and_a_message_forgotten_by_hand(page: NodeProgram) -> None:
    page("open", path="/facts")
    page("fill", selector="form[action$='/facts/add'] input[name=text]", value="I play the cello.")
    page("click", selector="form[action$='/facts/add'] button")
    assert "done=added" in page("url")
    page("open", path="/facts?q=cello")
    page("click", selector="main .card a")
    page("fill", selector="form[action$='/facts/correct'] input[name=text]", value="I play the viola.")
    page("click", selector="form[action$='/facts/correct'] button")
    assert page("text", selector="h1") == ["I play the viola"]
    page("click", selector="a.button:has-text('Forget it')")
    page("click", selector="button.danger")
    assert page("text", selector="h1") == ["Forgotten"]
    assert page("complaints") == []


def test_a_file_comes_in_and_its_progress_is_shown(page: NodeProgram, tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    file.write_text("[]")
    page("open", path="/transfer")
    page("upload", selector="input[type=file]", file=str(file))
    page("click", selector="form[action$='/import'] button")
    page("wait", selector=".warn, .done")
    assert page("complaints") == []


@pytest.mark.skipif(bool(PICTURES), reason="it is not told where pictures are taken")
def test_hostile_text_is_shown_and_does_nothing(page: NodeProgram) -> None:
    page("open", path="/threads")
    page("click", selector="a.card:has-text('name<script>')")
    shown = "\n".join(page("text", selector="main"))
    assert HOSTILE[:25] in shown
    for selector in ("details.why > summary", "details.summary > summary", "details.call > summary"):
        page("click", selector=selector)
    page("open", path="/search?q=dog+%3Cscript%3Ealert(9)%3C/script%3E")
    page("open", path="/facts?state=all")
    page("open", path="/plots")
    assert page("complaints") == [], "no dialog, no error, no violation of the policy"
