"""The server's MCP endpoint through the `mcp` client: the graph as a tool of another agent."""

from __future__ import annotations

from typing import Any

import pytest
from clients.dev_server import CONTROL, GRAPH
from clients.fake_openai import CANARY, FakeOpenAI

mcp = pytest.importorskip("mcp")

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(CONTROL, reason="the server gives no plain answers by itself"),
]


async def call(url: str, **arguments: Any) -> tuple[bool, str]:
    """One call of the tool: whether it failed, and the text of its result."""
    async with mcp.Client(f"{url}/mcp") as client:
        result = await client.call_tool(GRAPH, arguments)
    (part,) = result.content
    return bool(result.is_error), part.text


async def test_the_tool_tells_what_it_is_for(url: str) -> None:
    async with mcp.Client(f"{url}/mcp") as client:
        (tool,) = (await client.list_tools()).tools
    assert tool.name == GRAPH
    assert "messages" in tool.input_schema["properties"]
    assert tool.input_schema["properties"]["messages"]["type"] == "string"
    words = f"{tool.description} {tool.input_schema.get('description', '')}".casefold()
    assert "ask" in words or "use" in words, "a model is not told when to call it"
    assert "what a turn is given" not in words


async def test_the_result_is_the_text_of_the_reply(url: str, model: FakeOpenAI) -> None:
    failed, text = await call(url, messages="What is my boat called?")
    assert not failed
    assert text == model.replies[-1][1]
    assert CANARY not in text


async def test_an_error_says_what_was_wrong(url: str) -> None:
    failed, text = await call(url, messages="")
    assert failed
    assert "empty" in text
