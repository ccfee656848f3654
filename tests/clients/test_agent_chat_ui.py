"""The promises through Agent Chat UI in headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from clients.agent_chat_ui import browser, built_ui
from clients.node_programs import NodeChat, NodeProgram, node_program
from clients.promises import ChatPromises

pytestmark = [pytest.mark.clients, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def page(terminal_thread: str, url: str) -> Iterator[NodeProgram]:
    """The browser with the page."""
    path = browser()
    with node_program("agent_chat_ui.mjs", built_ui(), url, path) as program:
        yield program


class TestAgentChatUI(ChatPromises):
    @pytest.fixture
    def chat(self, page: NodeProgram, tmp_path: Path) -> Iterator[NodeChat]:
        yield NodeChat(page)
        page("picture", file=str(tmp_path / "page.png"))
