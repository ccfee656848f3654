"""The promises through `@langchain/langgraph-sdk` for JavaScript, and through `useStream`, its hook for React."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from clients.node_programs import NodeChat, NodeProgram, node_program
from clients.promises import ChatPromises

pytestmark = [pytest.mark.clients, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def client(terminal_thread: str, url: str) -> Iterator[NodeProgram]:
    """The program with the client."""
    with node_program("client.mjs", url) as program:
        yield program


@pytest.fixture(scope="module")
def hook(terminal_thread: str, url: str) -> Iterator[NodeProgram]:
    """A component that uses the hook, without a browser."""
    with node_program("use_stream.mjs", url) as program:
        yield program


class TestClient(ChatPromises):
    @pytest.fixture
    def chat(self, client: NodeProgram) -> NodeChat:
        return NodeChat(client)

    def test_the_output_of_a_run_is_messages_only(self, client: NodeProgram) -> None:
        assert client("outputKeys", text="Say something.") == ["messages"]


class TestUseStream(ChatPromises):
    @pytest.fixture
    def chat(self, hook: NodeProgram) -> NodeChat:
        return NodeChat(hook)
