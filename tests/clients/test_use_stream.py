"""The promises through `useStream`, the hook on which chat pages for React are built, without a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from clients.node_programs import NodeChat, NodeProgram, node_program
from clients.promises import ChatPromises

pytestmark = [pytest.mark.clients, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def hook(terminal_thread: str, url: str) -> Iterator[NodeProgram]:
    """A component that uses the hook."""
    with node_program("use_stream.mjs", url) as program:
        yield program


class TestUseStream(ChatPromises):
    @pytest.fixture
    def chat(self, hook: NodeProgram) -> NodeChat:
        return NodeChat(hook)
