"""`everthread mcp`: the memory of a user for whoever speaks the Model Context Protocol."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from langchain_core.embeddings import Embeddings
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from everthread import Settings, SettingsError, open_memory
from everthread.cli.mcp import mcp, read_tokens
from everthread.doors.mcp import memory_server
from everthread.doors.memory import ConversationMemory

READING = {"search_memory", "history", "threads", "facts", "explain"}
WRITING = {"remember", "forget_messages", "forget_fact"}


@pytest.fixture
async def memory(settings: Settings, embeddings: Embeddings) -> AsyncIterator[ConversationMemory]:
    async with open_memory(settings, user_id="ada", embeddings=embeddings) as memory:
        yield memory


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    """What a tool gave; a list stands under `result`."""
    called = await client.call_tool(tool, arguments)
    assert not called.is_error, called.content
    given = called.structured_content
    return given["result"] if given is not None and set(given) == {"result"} else given


async def test_what_is_remembered_is_found_read_known_and_forgotten(memory: ConversationMemory) -> None:
    async with Client(memory_server(memory)) as client:
        assert await answer(client, "remember", text="My parrot is called Pixel.") == "Kept."
        await memory.asettled()
        (found,) = await answer(client, "search_memory", query="What is my parrot called?")
        assert found["said"] == ["user: My parrot is called Pixel."]
        (thread,) = await answer(client, "threads")
        assert (thread["thread_id"], thread["messages"]) == (found["thread_id"], 1)
        (said,) = await answer(client, "history", thread_id=found["thread_id"])
        assert (said["text"], [said["id"]]) == ("My parrot is called Pixel.", found["message_ids"])
        assert any("Pixel" in fact["text"] for fact in await answer(client, "facts"))
        done = await answer(client, "forget_messages", thread_id=found["thread_id"], message_ids=found["message_ids"])
        assert done.startswith("Forgotten: 1 messages")
        assert await answer(client, "search_memory", query="What is my parrot called?") == []
        assert await answer(client, "facts") == []


async def test_each_user_has_threads_of_their_own_names(memory: ConversationMemory) -> None:
    for user, name in (("ada", "Pixel"), ("bob", "Rico")):
        async with Client(memory_server(memory.of(user))) as client:
            assert await answer(client, "remember", text=f"My parrot is called {name}.") == "Kept."
            assert await answer(client, "remember", text=f"{name} likes nuts.", thread_id="pets") == "Kept."
            threads = await answer(client, "threads")
            assert {one["name"] for one in threads} == {"notes", "pets"}
            for thread in ("pets", next(one["thread_id"] for one in threads if one["name"] == "pets")):
                (said,) = await answer(client, "history", thread_id=thread)
                assert said["text"] == f"{name} likes nuts."
                (found,) = await answer(client, "search_memory", query="nuts", thread_id=thread)
                assert found["said"] == [f"user: {name} likes nuts."]
            assert "Kept" in await answer(client, "remember", text="And seeds.", thread_id=threads[0]["thread_id"])
            assert len(await answer(client, "threads")) == 2


async def test_a_fact_is_forgotten_and_the_answer_says_so_in_one_sentence(memory: ConversationMemory) -> None:
    async with Client(memory_server(memory)) as client:
        await answer(client, "remember", text="My parrot is called Pixel.")
        await memory.asettled()
        (fact,) = await answer(client, "facts")
        assert await answer(client, "forget_fact", fact_id=fact["id"]) == "Forgotten: 1 messages, 1 facts, 0 pins."
        assert await answer(client, "facts") == []


async def test_tools_say_what_they_take_and_whether_they_change_anything(memory: ConversationMemory) -> None:
    async with Client(memory_server(memory)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == READING | WRITING
    for name, tool in tools.items():
        assert tool.description
        assert all(given.get("description") for given in tool.input_schema["properties"].values()), name
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (name in READING)
        assert bool(tool.annotations.destructive_hint) is name.startswith("forget")


async def test_a_read_only_server_has_no_tool_that_writes(memory: ConversationMemory) -> None:
    async with Client(memory_server(memory, read_only=True)) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == READING
        assert (await client.call_tool("remember", {"text": "x"})).is_error


async def test_what_goes_wrong_is_told_in_one_sentence(memory: ConversationMemory) -> None:
    async with Client(memory_server(memory)) as client:
        for tool, arguments, words in (
            ("explain", {"thread_id": "nowhere"}, "There is no thread 'nowhere'"),
            ("forget_fact", {"fact_id": "none"}, "There is no fact and no pin"),
            ("forget_messages", {"thread_id": "t", "message_ids": ["x"]}, "none of these messages"),
            ("search_memory", {"query": "   "}, "The query is empty"),
            ("search_memory", {"query": ""}, "at least 1 character"),
        ):
            failed = await client.call_tool(tool, arguments)
            assert failed.is_error
            assert words in failed.content[0].text


@pytest.mark.slow
async def test_a_client_starts_the_command_and_speaks_over_its_pipes(environment: dict[str, str]) -> None:
    command = StdioServerParameters(
        command=str(Path(sys.executable).with_name("everthread")), args=["mcp"], env=environment
    )
    async with Client(command) as client:
        assert await answer(client, "remember", text="My parrot is called Pixel.", thread_id="pets") == "Kept."
        assert await answer(client, "remember", text="My parrot is called Pixel.", thread_id="pets")
        found = await answer(client, "search_memory", query="parrot")
        assert "user: My parrot is called Pixel." in found[0]["said"]


@pytest.mark.slow
async def test_over_http_the_token_says_whose_memory_it_is(environment: dict[str, str], tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("# who may\nada-0123456789abcdef ada\nbob-0123456789abcdef bob\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("everthread")), "mcp", "--http", "--port", str(port)]
    with subprocess.Popen([*command, "--tokens", str(tokens)], env=environment) as server:
        try:
            url = f"http://127.0.0.1:{port}/mcp"
            await _listening(url)
            async with _client(url, "ada-0123456789abcdef") as ada, _client(url, "bob-0123456789abcdef") as bob:
                assert await answer(ada, "remember", text="My parrot is called Pixel.") == "Kept."
                assert await answer(ada, "search_memory", query="parrot")
                assert await answer(bob, "search_memory", query="parrot") == []
                assert await answer(bob, "threads") == []
                assert await answer(bob, "remember", text="My parrot is called Rico.") == "Kept."
            for headers in ({}, {"Authorization": "Bearer guessed-0123456789"}):
                async with httpx.AsyncClient(headers=headers) as stranger:
                    assert (await stranger.post(url, json={})).status_code == 401
        finally:
            server.terminate()


def _client(url: str, token: str) -> Client:
    signed = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"})
    return Client(streamable_http_client(url, http_client=signed))


async def _listening(url: str) -> None:
    async with httpx.AsyncClient() as client:
        for _ in range(600):
            try:
                await client.post(url, json={})
            except httpx.TransportError:
                await asyncio.sleep(0.1)
            else:
                return
    raise AssertionError("the server did not start")


@pytest.mark.parametrize("line", ["short ada", "0123456789abcdef", "0123456789abcdef bob\n0123456789abcdef ada"])
def test_tokens_that_protect_nobody_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "tokens").write_text(line)
    with pytest.raises(SettingsError, match="expected a token of at least 16 characters"):
        read_tokens(tmp_path / "tokens")


def test_strangers_do_not_share_a_memory_by_accident(settings: Settings) -> None:
    with pytest.raises(SettingsError, match=r"give --tokens, or listen on 127\.0\.0\.1"):
        mcp(settings, http=True, host="0.0.0.0")  # which is what is refused
