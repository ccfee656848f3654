"""The promises through `langgraph_sdk` for Python."""

from __future__ import annotations

import pytest
from clients.promises import ChatPromises
from clients.python_sdk import SdkChat

pytestmark = [pytest.mark.clients, pytest.mark.usefixtures("terminal_thread")]


class TestSdk(ChatPromises):
    @pytest.fixture
    def chat(self, terminal_thread: str, url: str) -> SdkChat:
        return SdkChat(url)
