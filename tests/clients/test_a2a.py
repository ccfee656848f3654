"""The server's A2A endpoint: `message/send` and `message/stream`, with a context that goes on."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from clients.chat import Shown, Talk, state_messages
from clients.dev_server import GRAPH
from clients.fake_openai import CANARY, FakeOpenAI
from clients.promises import notes
from clients.python_sdk import SdkChat

pytestmark = pytest.mark.clients


class Agent:
    """The graph as an agent that speaks A2A.

    Args:
        url: of the server.
    """

    def __init__(self, url: str) -> None:
        self.sdk = SdkChat(url)
        (assistant,) = self.sdk.client.assistants.search(graph_id=GRAPH)
        self.base = url
        self.id = assistant["assistant_id"]
        self.url = f"{url}/a2a/{self.id}"
        self.context: str | None = None

    def send(self, text: str) -> dict[str, Any]:
        """A message; gives the task."""
        answer = httpx.post(self.url, json=self._request("message/send", text), headers=ACCEPT, timeout=60).json()
        assert "result" in answer, answer
        self.context = answer["result"]["contextId"]
        return dict(answer["result"])

    def stream(self, text: str) -> Iterator[dict[str, Any]]:
        """A message; gives the events as they come."""
        request = self._request("message/stream", text)
        with httpx.stream("POST", self.url, json=request, headers=ACCEPT, timeout=60) as response:
            for line in response.iter_lines():
                if line.startswith("data:"):
                    event = json.loads(line.removeprefix("data:"))
                    assert "result" in event, event
                    yield event["result"]

    def _request(self, method: str, text: str) -> dict[str, Any]:
        message = {"kind": "message", "role": "user", "messageId": str(uuid.uuid4()),
                   "parts": [{"kind": "text", "text": text}]}  # fmt: skip
        if self.context:
            message["contextId"] = self.context
        return {"jsonrpc": "2.0", "id": "1", "method": method, "params": {"message": message}}


ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def agent(url: str) -> Agent:
    """The agent, with a new context."""
    return Agent(url)


def text_in(parts: list[dict[str, Any]]) -> str:
    """The text of a message or an artifact."""
    return "".join(part.get("text", "") for part in parts)


def said_in(history: list[dict[str, Any]]) -> list[Shown]:
    """The history of a task as a client shows it."""
    return [Shown("user" if item["role"] == "user" else "assistant", text_in(item["parts"])) for item in history]


def test_a_context_goes_on_and_its_history_is_what_was_said(agent: Agent, model: FakeOpenAI) -> None:
    talk = Talk(agent.sdk, model)
    contexts = set()
    for text in notes(6):
        task = agent.send(text)
        talk.turns.append(talk.newest(text))
        contexts.add(task["contextId"])
        assert task["status"]["state"] == "completed"
        assert text_in(task["artifacts"][0]["parts"]) == talk.turns[-1][1]
        assert said_in(task["history"]) == talk.expected
        assert CANARY not in json.dumps(task)
    assert len(contexts) == 1
    state: Any = agent.sdk.client.threads.get_state(str(agent.context))
    assert state_messages(state["values"]["messages"]) == talk.expected


def test_a_stream_ends_with_the_reply(agent: Agent, model: FakeOpenAI) -> None:
    agent.send("Note 1 is about birch.")
    for text in notes(5)[1:]:
        events = list(agent.stream(text))
        reply = model.replies[-1][1]
        assert model.replies[-1][0] == text
        artifacts = [event["artifact"] for event in events if event["kind"] == "artifact-update"]
        assert text_in(artifacts[-1]["parts"]) == reply
        assert events[-1]["status"]["state"] == "completed"
        assert CANARY not in json.dumps(events)


def test_a_task_can_be_read_again(agent: Agent, model: FakeOpenAI) -> None:
    """By its id, with its own question and reply."""
    for text in notes(4):
        task = agent.send(text)
    request = {"jsonrpc": "2.0", "id": "1", "method": "tasks/get", "params": {"id": task["id"], "historyLength": 10}}
    read = httpx.post(agent.url, json=request, headers=ACCEPT, timeout=60).json()["result"]
    assert read["status"]["state"] == "completed"
    assert said_in(read["history"])[-2:] == [Shown("user", text), Shown("assistant", model.replies[-1][1])]
    assert CANARY not in json.dumps(read)


def test_an_error_says_what_was_wrong(agent: Agent) -> None:
    task = agent.send(" ")
    assert task["status"]["state"] == "failed"
    assert "empty" in text_in(task["status"]["message"]["parts"])


def test_an_error_in_a_stream_says_what_was_wrong(agent: Agent) -> None:
    (last,) = [event for event in agent.stream(" ") if event.get("final")]
    assert last["status"]["state"] == "failed"
    assert "empty" in text_in(last["status"]["message"]["parts"])


def test_the_card_tells_what_the_agent_is_for(agent: Agent) -> None:
    card = httpx.get(f"{agent.base}/.well-known/agent-card.json?assistant_id={agent.id}", timeout=10).json()
    assert card["name"] == GRAPH
    assert "conversation" in card["description"]
    assert card["skills"][0]["description"] == card["description"]
