"""What everthread adds to a LangGraph server: history in pages, threads of the terminal, copies, answers over MCP."""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from clients.dev_server import server
from command import run
from langgraph_sdk import get_client
from test_server import one_turn, project

from everthread import thread_id
from everthread.server.mcp_answers import readable

pytestmark = pytest.mark.slow

__all__ = ["project"]


def in_terminal(environment: dict[str, str], *words: str, said: str = "") -> str:
    done = run(environment, *words, typed=said)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_thread_of_the_terminal_opens_and_its_history_comes_in_pages(
    project: Path, environment: dict[str, str]
) -> None:
    in_terminal(environment, "chat", "--thread", "work", said="My dog is called Biscuit.\nhello\nhow are you\n")
    id_ = thread_id("work")
    with server(project, environment) as url:
        client = get_client(url=url, api_key=None)

        async def listed() -> Any:
            for _ in range(50):
                if found := await client.threads.search(metadata={"title": "work"}):
                    return found[0]
                await asyncio.sleep(0.1)
            raise AssertionError("the thread is not in the list")

        async def work() -> None:
            assert (await listed())["thread_id"] == id_
            state: Any = await client.threads.get_state(id_)
            assert state["values"]["messages"][0]["content"] == "My dog is called Biscuit."
            assert len(state["values"]["messages"]) == 6
            reply, _ = await one_turn(url, id_, "What is my dog called?")
            assert "Biscuit" in reply

        asyncio.run(work())
        address = f"{url}/everthread/threads/{id_}/history"
        page = httpx.get(address, params={"limit": 3}).json()
        assert [message["role"] for message in page["messages"]] == ["assistant", "user", "assistant"]
        earlier = httpx.get(address, params={"limit": 50, "before": page["before"]}).json()
        assert earlier["messages"][0]["text"] == "My dog is called Biscuit."
        assert earlier["before"] is None
        assert len(earlier["messages"]) + len(page["messages"]) == 8
        assert httpx.get(address, params={"user_id": "bob"}).status_code == 404
        assert httpx.get(address, params={"limit": 0}).status_code == 422
        ready = httpx.get(f"{url}/everthread/ready")
        assert (ready.status_code, ready.json()["database"]) == (200, "ok")


def test_a_copy_has_the_whole_conversation_and_its_archive(project: Path, environment: dict[str, str]) -> None:
    with server(project, environment) as url:
        client = get_client(url=url, api_key=None)

        async def work() -> tuple[str, str]:
            thread = await client.threads.create()
            for n in range(4):
                await one_turn(url, thread["thread_id"], f"Fact {n}")
            copy: Any = await client.threads.copy(thread["thread_id"])
            for n in range(2):
                await one_turn(url, copy["thread_id"], f"After {n}")
            state: Any = await client.threads.get_state(copy["thread_id"])
            texts = [m["content"] for m in state["values"]["messages"] if m["type"] == "human"]
            assert texts == ["Fact 0", "Fact 1", "Fact 2", "Fact 3", "After 0", "After 1"]
            return thread["thread_id"], copy["thread_id"]

        original, copy = asyncio.run(work())
    history = in_terminal(environment, "history", copy)
    assert [f"Fact {n}" in history for n in range(4)] == [True] * 4
    assert "After 1" in history
    assert "After" not in in_terminal(environment, "history", original)
    assert "nothing is wrong" in in_terminal(environment, "doctor", copy)


def test_a_thread_that_a_client_deletes_is_forgotten(project: Path, environment: dict[str, str]) -> None:
    with server(project, environment) as url:
        client = get_client(url=url, api_key=None)

        async def work() -> None:
            thread = await client.threads.create()
            await one_turn(url, thread["thread_id"], "My PIN for the safe is 4711 and my sister is called Olga.")
            await client.threads.delete(thread["thread_id"])
            reply, _ = await one_turn(url, str(uuid.uuid4()), "What is my PIN and my sister called?")
            assert "4711" not in reply
            assert "Olga" not in reply
            given: Any = {"messages": [{"role": "user", "content": "My favourite colour is mauve."}]}
            await client.runs.wait(None, "everthread", input=given)
            reply, _ = await one_turn(url, str(uuid.uuid4()), "What is my favourite colour?")
            assert "mauve" in reply  # a run without a thread is of the user all the same

        asyncio.run(work())
    assert "4711" not in in_terminal(environment, "threads") + in_terminal(environment, "facts", "--all")


def test_an_answer_over_mcp_is_the_reply(project: Path, environment: dict[str, str]) -> None:
    with server(project, environment) as url:

        def call(method: str, params: dict[str, Any]) -> Any:
            asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            accepted = {"accept": "application/json, text/event-stream"}
            return httpx.post(f"{url}/mcp/", json=asked, headers=accepted, timeout=60, follow_redirects=True).json()

        (tool,) = call("tools/list", {})["result"]["tools"]
        assert tool["name"] == "everthread"
        assert "remembers" in tool["description"]
        assert "message" in json.dumps(tool["inputSchema"])
        answer = call("tools/call", {"name": "everthread", "arguments": {"messages": "hello there"}})
        (part,) = answer["result"]["content"]
        assert "not a language model" in part["text"]
        assert "{" not in part["text"]
        refused = call("tools/call", {"name": "everthread", "arguments": {"messages": ""}})
        assert "The message is empty" in json.dumps(refused)


def test_what_is_no_answer_of_ours_is_passed_on_as_it_is() -> None:
    for body in (
        b"",
        b"{",
        b"[]",
        b'{"result": {"content": [{"type": "text", "text": "not python"}]}}',
        b'{"error": 1}',
    ):
        assert readable(body) == body
    output = {
        "messages": [{"type": "human", "content": "hi"}, {"type": "ai", "content": [{"type": "text", "text": "ho"}]}]
    }
    given = {"result": {"content": [{"type": "text", "text": repr(output)}]}, "id": str(uuid.uuid4())}
    assert json.loads(readable(json.dumps(given).encode()))["result"]["content"] == [{"type": "text", "text": "ho"}]
