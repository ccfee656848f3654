"""The page: every part opens on every storage and shows what is kept; what was said is text, and nobody else's."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage
from web_page import entered, read
from web_story import small_graph, story_graph, told, told_hostile

import everthread
from everthread.graph.conversation import Conversation
from everthread.settings.settings import Settings

STATIC = Path(everthread.__file__).parent / "web" / "static"


@pytest.fixture
async def stored_story(stored: Settings, embeddings: Embeddings) -> AsyncIterator[Conversation]:
    """The story on each storage."""
    async with story_graph(stored, embeddings) as graph:
        await told(graph)
        yield graph


@pytest.fixture
async def small(tmp_path: Path, embeddings: Embeddings) -> AsyncIterator[Conversation]:
    """A graph on SQLite in which nothing was said yet."""
    async with small_graph(tmp_path, embeddings) as graph:
        yield graph


@pytest.fixture
async def story(small: Conversation) -> Conversation:
    """The story on SQLite."""
    await told(small)
    return small


async def test_conversations_are_listed_read_as_said_and_explained(stored_story: Conversation) -> None:
    async with entered(stored_story) as client:
        listed = await read(client, "/threads")
        assert listed.index("Search the web: which trams") < listed.index("The release") < listed.index("At home")
        assert "The release" not in await read(client, "/threads", q="biscuit home")
        page = await read(client, "/thread", id="home")
        assert "My dog is called Biscuit." in page
        assert "What did we cook in November?" not in page
        assert "What did we cook in November?" in await read(client, "/thread", id="home", left=1)
        assert "level 1" in page
        assert "Why this reply: turn 2<" in page
        turn = await read(client, "/turn", thread="trams", turn=1)
        for part in ("<strong>Searched</strong>", "Night trams in Oslo", "Tokens of the prompt by section", "0.0"):
            assert part in turn
        remembered = await read(client, "/turn", thread="home", turn=10)
        assert "Remembered" in remembered
        assert "What a model would be shown" in await read(client, "/prompt", thread="home", q="What is my dog called?")


async def test_a_conversation_is_read_in_pages_and_around_a_message(small: Conversation) -> None:
    said: list[Any] = []
    for n in range(1, 61):
        said += [HumanMessage(f"Question number {n}.", id=f"q{n}"), AIMessage(f"Answer number {n}.", id=f"a{n}")]
    async with entered(small) as client:
        await small.resources.of_user("ada").archive.own_thread("t")
        await small.resources.of_user("ada").archive.add_messages("t", said)
        newest = await read(client, "/thread", id="t")
        assert "number 60." in newest
        assert "number 40." not in newest
        (older,) = set(re.findall(r'href="(/thread\?[^"]+)" rel="prev"', newest))
        before = await read(client, older.replace("&amp;", "&"))
        assert "number 40." in before
        assert "number 41." not in before
        (newer,) = set(re.findall(r'href="(/thread\?[^"]+)"(?: rel="next")?>The newest', before))
        assert "number 60." in await read(client, newer.replace("&amp;", "&"))
        around = await read(client, "/thread", id="t", at="q30")
        assert "number 30." in around
        assert "number 35." in around
        assert "number 60." not in around


async def test_memory_is_searched_as_the_graph_does_and_says_why(story: Conversation) -> None:
    async with entered(story) as client:
        page = await read(client, "/search", q="What is my dog called?")
        first = page[page.index("<ol") :].split("<li")[1]
        assert "Biscuit" in first
        assert re.search(r"Found by (meaning|words|meaning and words): score \d", first)
        only = await read(client, "/search", q="Who reviews the importer?", thread="work", role="user")
        assert "Ruth reviews the importer" in only
        assert "Ruth the importer, you the notes" not in only, "which the assistant said"
        assert "Biscuit" not in only
        assert "Nothing of what bears on it" in await read(client, "/search", q="dog", until="2001-01-01")
        assert "in <bdi" in only
        assert "The release" in only.split("in <bdi")[1]
        wrong = await client.get("/search", params={"q": "dog", "since": "yesterday"})
        assert wrong.status_code == 404
        assert "expected it as 2026-01-31" in wrong.text


async def test_filters_find_what_many_others_bear_on_as_well(small: Conversation) -> None:
    user = small.resources.of_user("ada")
    said: list[Any] = []
    for n in range(200):
        moment = {"created_at": f"2025-{1 + n // 28:02}-{1 + n % 28:02}T12:00:00+00:00"}
        said.append(HumanMessage(f"The garden has {n} roses.", id=f"q{n}", additional_kwargs=moment))
    async with entered(small) as client:
        await user.archive.own_thread("t")
        await user.archive.add_messages("t", said)
        await small.asettled()
        for since in ("2025-01-03", "2025-04-20", "2025-07-28"):
            page = await read(client, "/search", q="How many roses has the garden?", since=since, until=since)
            assert "1 found" in page, since
        assert "memories of the 200" in await read(client, "/search", q="roses", role="user")


async def test_who_looks_at_an_old_message_sees_it_and_the_forms_keep_an_old_conversation(small: Conversation) -> None:
    user = small.resources.of_user("ada")
    said: list[Any] = [HumanMessage(f"Question number {n}.", id=f"q{n}") for n in range(1, 121)]
    async with entered(small) as client:
        for thread, messages in (("old", said), *((f"t{n}", [HumanMessage("Hello.", id=f"h{n}")]) for n in range(210))):
            await user.archive.own_thread(thread)
            await user.archive.add_messages(thread, messages)
        middle = await read(client, "/thread", id="old", at="q60")
        assert middle.count('id="at"') == middle.count(" meant") == 1
        assert "Question number 60." in middle[middle.index('id="at"') :][:600]
        labels = re.findall(r'<nav[^>]*aria-label="([^"]+)"', middle)
        assert len(labels) == len(set(labels)), "of two with one name a screen reader cannot tell which is which"
        (first,) = set(re.findall(r'href="(/thread\?[^"]+)">The first<', middle))
        begun = await read(client, first.replace("&amp;", "&"))
        assert "Question number 1." in begun
        assert "Question number 41." not in begun
        assert re.search(r'value="old" selected>Question number 1\.<', await read(client, "/search", thread="old"))


async def test_the_pyramid_leads_down_to_what_was_said(story: Conversation) -> None:
    async with entered(story) as client:
        page = await read(client, "/summaries", thread="home")
        assert re.search(r'aria-label="master"', page)
        summary = re.search(r'href="(/summary\?[^"]+)"', page)
        assert summary is not None
        for _ in range(4):
            page = await read(client, summary[1].replace("&amp;", "&"))
            if found := re.search(r"<h2>Made of</h2>.*?Open this summary", page, re.DOTALL):
                summary = re.search(r'href="(/summary\?[^"]+)">Open this', found[0])
                assert summary is not None
        assert "in the conversation" in page[page.index("Made of") :]


async def test_a_summary_corrected_by_hand_is_shown_found_and_keeps_its_versions(story: Conversation) -> None:
    user = story.resources.of_user("ada")
    (summary, *_) = [one for one in await user.archive.summaries("home") if one.level == 1]
    async with entered(story) as client:
        sent = {"thread": "home", "id": summary.id, "text": "Ada owns a submarine."}
        answer = await client.post("/summary/correct", data=sent)
        assert answer.status_code == 303
        page = await read(client, answer.headers["location"])
        assert "Ada owns a submarine." in page
        assert "It is corrected" in page
        assert "by hand" in page
        assert "version 2" in page
        again = await client.post("/summary/correct", data=sent)
        assert "says that already" in again.text
        await story.asettled()
        assert "Ada owns a submarine." in await read(client, "/search", q="Who owns a submarine?")
        answer = await client.post("/summary/again", data={"thread": "home", "id": summary.id})
        assert answer.status_code == 303
        page = await read(client, answer.headers["location"])
        assert "version 3" in page
        assert "<del>" in page
    (first, second) = await user.summaries.versions("home", summary.id)
    assert (first.content, first.method, second.method) == (summary.content, "extractive", "user")


async def test_what_was_said_is_text_wherever_it_is_shown(small: Conversation) -> None:
    await told_hostile(small)
    async with entered(small) as client:
        for path in await every_page(small):
            page = await read(client, path)
            if path.startswith("/export"):
                continue
            for piece in ("<script>alert", "<img src=x", "<svg/onload", "</textarea>&lt;", "onerror=alert(2)>"):
                assert piece not in page, path
            if path.startswith(("/thread?", "/search", "/summary", "/fact?", "/forget?")):
                assert "&lt;script&gt;" in page, path


EVERYBODYS = (
    "/threads", "/search?q=dog", "/summaries", "/facts", "/facts?state=all&view=timeline", "/plots", "/forget",
    "/forget?since=2001-01-01", "/transfer", "/settings",
)  # fmt: skip
"""The pages that a user with an empty memory has as well."""


async def every_page(graph: Conversation) -> list[str]:
    """The paths of all pages, on whatever is kept of ada."""
    user = graph.resources.of_user("ada")
    paths = [*EVERYBODYS]
    paths += [_path(path, id=fact.id) for fact in await user.facts.all_facts() for path in ("fact",)]
    paths += [_path("forget", fact=fact.id) for fact in await user.facts.all_facts()]
    for row in await user.archive.threads():
        thread = row["thread_id"]
        of_thread = {"thread": thread}
        paths += [_path("thread", id=thread), _path("thread", id=thread, left=1), _path("turn", **of_thread)]
        paths += [_path("summaries", **of_thread), _path("prompt", q="My dog?", **of_thread)]
        for summary in (await user.archive.summaries(thread))[:2]:
            paths += [_path("summary", id=summary.id, **of_thread), _path("below", id=summary.id, **of_thread)]
        (message, *_) = await user.archive.page(thread, limit=1)
        paths += [_path("message", id=message.id, **of_thread), _path("forget", message=message.id, **of_thread)]
        paths += [_path("forget", **of_thread), _path("plots", **of_thread), _path("export", **of_thread)]
    return paths


def _path(path: str, **query: Any) -> str:
    return f"/{path}?{httpx.QueryParams(query)}"


async def test_another_users_conversation_is_not_there(story: Conversation) -> None:
    async with entered(story, user_id="eve") as client:
        assert "At home" not in await read(client, "/threads")
        for path in await every_page(story):
            answer = await client.get(path)
            assert answer.status_code == (200 if path in EVERYBODYS else 404), path
            assert "Biscuit" not in answer.text


def test_the_vendored_file_is_the_one_that_was_noted() -> None:
    noted = re.search(r"`([0-9a-f]{64})`", (STATIC / "README.md").read_text())
    assert noted is not None
    assert hashlib.sha256((STATIC / "htmx.min.js").read_bytes()).hexdigest() == noted[1]


async def test_an_empty_memory_has_pages_too(small: Conversation) -> None:
    async with entered(small) as client:
        for path in EVERYBODYS:
            assert "<h1>" in await read(client, path)
