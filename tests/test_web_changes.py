"""What a person changes on the page: facts, pins, what is forgotten, what comes in and goes out."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.embeddings import Embeddings
from variants import each, on_storage
from web_page import entered, read
from web_story import small_graph, story_graph, told

from everthread.cli.web import web
from everthread.graph.conversation import Conversation
from everthread.settings.settings import Settings
from everthread.state.errors import SettingsError


@pytest.fixture(params=each(["postgres", "sqlite", "json"], quick={"sqlite"}))
def stored(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Settings:
    """Settings on each storage: the page is the same on all of them."""
    return on_storage(request.param, settings, tmp_path)


@pytest.fixture
async def graph(at_hand: Settings, embeddings: Embeddings) -> AsyncIterator[Conversation]:
    """The story on each storage, with all its files at hand."""
    async with story_graph(at_hand, embeddings) as opened:
        await told(opened)
        yield opened


@pytest.fixture
async def small(tmp_path: Path, embeddings: Embeddings) -> AsyncIterator[Conversation]:
    """A graph on SQLite in which nothing was said yet."""
    async with small_graph(tmp_path, embeddings) as opened:
        yield opened


async def send(client: httpx.AsyncClient, path: str, **fields: str) -> str:
    """Send a form, and follow where it leads; gives the page."""
    answer = await client.post(path, data=fields)
    assert answer.status_code in {200, 303}, answer.text
    return answer.text if answer.status_code == 200 else await read(client, answer.headers["location"])


def link_to(page: str, path: str, near: str) -> str:
    """The first link to a path whose element holds a text."""
    found = re.search(rf'href="(/{path}\?[^"]+)"[^>]*>[^<]*{re.escape(near)}', page)
    assert found is not None, near
    return html.unescape(found[1])


async def test_a_fact_is_added_corrected_confirmed_pinned_and_set_aside(graph: Conversation) -> None:
    async with entered(graph) as client:
        page = await read(client, "/facts")
        assert "My dog is called Biscuit" in page
        assert "I live in Oslo" not in page
        assert "I live in Oslo" in await read(client, "/facts", state="superseded")
        assert "the vet closes at six" in page
        assert "It is known now" in await send(client, "/facts/add", text="I play the cello.")
        cello = await read(client, link_to(await read(client, "/facts"), "fact", "I play the cello"))
        assert "as you wrote it" in cello
        (id_,) = set(re.findall(r'name="id" value="([^"]+)"', cello))
        page = await send(client, "/facts/correct", id=id_, text="I play the viola.")
        assert "It is corrected" in page
        assert "I play the cello" in page  # among what it superseded
        (id_,) = set(re.findall(r'name="id" value="([^"]+)"', page))
        assert "It is confirmed" in await send(client, "/facts/confirm", id=id_)
        thread, source = (re.search(rf'name="{name}" value="([^"]+)"', page)[1] for name in ("thread", "source"))  # type: ignore[index]
        page = await send(client, "/pins/add", thread=thread, source=source, text="I play the viola.")
        pinned = page[page.index("Pinned") : page.index("<h2>Facts")]
        assert "viola" in pinned
        pin = re.search(r'viola.*?name="id" value="([^"]+)"', pinned, re.DOTALL)
        assert pin is not None
        assert "no longer pinned" in await send(client, "/pins/remove", id=pin[1])
        assert "never used again" in await send(client, "/facts/aside", id=id_)
        assert "viola" not in await read(client, "/facts")
        assert "viola" in await read(client, "/facts", state="forgotten", view="timeline")
    states = {fact.text: fact.state for fact in await graph.resources.of_user("ada").facts.all_facts()}
    assert states["I play the viola"] == "forgotten" or states["I play the viola."] == "forgotten"


async def test_what_will_go_is_what_goes_and_the_proof_finds_nothing(graph: Conversation) -> None:
    async with entered(graph) as client:
        page = await read(client, "/thread", id="home")
        link = r'href="(/forget\?[^"]+)"[^>]*>Forget</a></p>\s*<div class="said" dir="auto">'
        message = re.search(link + "He does, in a", page)
        assert message is not None
        path = html.unescape(message[1])
        asked = await read(client, path)
        assert "I am allergic to peanuts" in asked
        assert "allergic to peanuts" in await read(client, "/facts"), "looking changes nothing"
        gone = await send(client, "/forget/now", **dict(httpx.URL(path).params), prove="1")
        assert numbers(asked) == numbers(gone)
        assert numbers(gone)["messages"] >= 1
        assert numbers(gone)["facts"] >= 1
        assert "Nothing of it was found" in gone
        assert "peanuts" not in await read(client, "/facts", state="all")
        assert "peanuts, by the way" not in await read(client, "/thread", id="home", left=1)
        assert "<td>page</td>" in await read(client, "/forget")


def numbers(page: str) -> dict[str, int]:
    """What a page says goes, or went."""
    return {name: int(number) for name, number in re.findall(r"<dt>([^<]+)</dt><dd>(\d+)</dd>", page)}


async def test_a_span_a_fact_a_conversation_and_everything_are_forgotten(graph: Conversation) -> None:
    async with entered(graph) as client:
        fact = re.search(r"id=([^&]+)", link_to(await read(client, "/facts"), "fact", "My dog is called Biscuit"))
        assert fact is not None
        assert numbers(await read(client, "/forget", fact=fact[1]))["facts"] >= 1
        assert numbers(await read(client, "/forget", until="2001-01-01"))["messages"] == 0
        asked = await read(client, "/forget", since="2001-01-01", thread="work")
        assert numbers(asked)["messages"] == 6
        assert numbers(await send(client, "/forget/now", since="2001-01-01", thread="work"))["messages"] == 6
        gone = numbers(await send(client, "/forget/now", thread="trams"))
        assert (gone["conversations"], gone["messages"]) == (1, 2)
        everything = await read(client, "/forget", all="1")
        answer = await client.post("/forget/now", data={"all": "1", "sure": "eve"})
        assert "write the name of the user" in answer.text
        gone = numbers(await send(client, "/forget/now", all="1", sure="ada"))
        assert gone == numbers(everything)
        assert gone["conversations"] == 2
        assert "Nothing was said yet" in await read(client, "/threads")


async def test_what_was_exported_comes_back_for_another_user_with_progress(small: Conversation) -> None:
    await told(small)
    async with entered(small) as client, entered(small, user_id="eve") as other:
        answer = await client.get("/export")
        assert "attachment" in answer.headers["content-disposition"]
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert lines[0]["counts"]["threads"] == 3
        only = await client.get("/export", params={"thread": "work"})
        assert json.loads(only.text.splitlines()[0])["counts"]["threads"] == 1
        # Ids of threads belong to who has them; a copy for another user has others.
        copy = "\n".join(json.dumps(renamed(line)) for line in lines)
        page = await imported(other, "past.jsonl", copy)
        assert "It is imported" in page
        assert f"{lines[0]['counts']['messages']} messages" in page
        assert "Biscuit" in await read(other, "/search", q="What is my dog called?")
        refused = await imported(other, "past.jsonl", answer.text)
        assert "belongs to another user" in refused
        broken = await imported(other, "<b>x</b>.jsonl", "no JSON")
        assert "<b>x" not in broken
        job = re.search(r"job=([^&\"]+)", str(other_job.pop()))
        assert job is not None
        assert (await client.get("/transfer", params={"job": job[1]})).status_code == 404


def renamed(line: dict[str, Any]) -> dict[str, Any]:
    if line["kind"] == "thread":
        return {**line, "id": f"copy of {line['id']}"}
    return {**line, "thread": f"copy of {line['thread']}"} if "thread" in line else line


other_job: list[str] = []


async def imported(client: httpx.AsyncClient, name: str, content: str) -> str:
    """Import a file, and wait for its end; gives the last page."""
    answer = await client.post("/import", files={"file": (name, content.encode())})
    assert answer.status_code == 303, answer.text
    other_job.append(answer.headers["location"])
    for _ in range(600):
        page = await read(client, answer.headers["location"])
        if "every 1s" not in page:
            return page
        await asyncio.sleep(0.1)
    raise AssertionError("the import has not ended")


async def test_a_form_of_another_shape_is_refused_in_one_sentence(small: Conversation) -> None:
    async with entered(small) as client:
        file = ("chat.jsonl", b"{}")
        two_files = await client.post("/import", files=[("file", file), ("file", file)])
        many_fields = await client.post("/import", data={"a": "1", "b": "2"}, files={"file": file})
        for answer in (two_files, many_fields):
            assert answer.status_code == 400
            assert "send the form of this page" in answer.text


async def test_figures_are_of_the_turns_that_were_taken(graph: Conversation) -> None:
    async with entered(graph) as client:
        page = await read(client, "/plots")
        assert "17 turns" in page
        assert page.count("<svg viewBox") == 5
        assert "The median is 50 % of a turn’s input" in page
        assert "with the whole conversation each time it would have been" in page.split("At the prices that are set")[1]
        for kind in ("messages", "vectors", "summaries", "reports of turns", "checkpoints"):
            number = re.search(rf"<td>{kind}</td><td class=\"n\">([\d,]+)</td><td class=\"n\">([^<]+)", page)
            assert number is not None
            assert int(number[1].replace(",", "")) > 0
            assert number[2] != "0 bytes"
        assert "12 turns" in await read(client, "/plots", thread="home", turns=12)
        rows = re.findall(r"<tr><td><a[^>]*>(\d+)</a></td>" + r'<td class="n">([\d,]*)</td>' * 2, page)
        (*_, (prompt, whole)) = [(prompt, whole) for turn, prompt, whole in rows if turn == "1"]
        assert 0 <= int(prompt) - int(whole) < 10, "before the first of all turns nothing was said"


async def test_settings_say_where_they_come_from_and_hide_what_is_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, embeddings: Embeddings
) -> None:
    monkeypatch.setenv("EVERTHREAD_DATABASE_URL", f"sqlite:///{tmp_path}/secret-place.db")
    monkeypatch.setenv("EVERTHREAD_MAX_FACTS", "7")
    from everthread.graph.open import open_graph

    async with (
        open_graph(Settings(profile="hybrid", user_id="ada"), embeddings=embeddings) as opened,
        entered(opened) as client,
    ):
        page = await read(client, "/settings")
        assert "secret-place" not in page
        for name, value, origin in (
            ("database_url", "hidden", "environment"), ("max_facts", "7", "environment"),
            ("profile", "hybrid", "given"), ("max_context_tokens", "3000", "profile"), ("max_pins", "5", "default"),
        ):  # fmt: skip
            row = re.search(rf"<code>{name}</code>.*?</tr>", page, re.DOTALL)
            assert row is not None
            assert f">{value}<" in row[0]
            assert f">{origin}<" in row[0]


async def test_another_user_changes_nothing(small: Conversation) -> None:
    await told(small)
    user = small.resources.of_user("ada")
    facts, summaries = await user.facts.all_facts(), await user.archive.summaries("home")
    (pin,) = await user.facts.pins()
    (said, *_) = await user.archive.messages("home")
    async with entered(small, user_id="eve") as client:
        forms: list[tuple[str, dict[str, str]]] = [
            ("/facts/correct", {"id": facts[0].id, "text": "mine"}), ("/facts/confirm", {"id": facts[0].id}),
            ("/facts/aside", {"id": facts[0].id}), ("/pins/remove", {"id": pin.id}),
            ("/pins/add", {"thread": "home", "source": said.id, "text": "mine"}),
            ("/summary/correct", {"thread": "home", "id": summaries[0].id, "text": "mine"}),
            ("/summary/again", {"thread": "home", "id": summaries[0].id}),
            ("/forget/now", {"thread": "home", "message": said.id}), ("/forget/now", {"thread": "home"}),
            ("/forget/now", {"fact": facts[0].id}),
        ]  # fmt: skip
        for path, fields in forms:
            answer = await client.post(path, data=fields)
            assert answer.status_code == 404, path
    assert await user.facts.all_facts() == facts
    assert await user.archive.summaries("home") == summaries
    assert await user.archive.messages("home")


def test_without_its_packages_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from everthread.cli import web as module

    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"pip install 'everthread\[web\]'"):
        web(Settings())
