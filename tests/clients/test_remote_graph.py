"""`RemoteGraph`: the served graph in the hands of another program, alone and as a node of a graph of its own."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from clients.chat import Shown, conversation, text_of
from clients.dev_server import GRAPH
from clients.fake_openai import CANARY, FakeOpenAI
from clients.promises import notes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph

pytestmark = pytest.mark.clients


@pytest.fixture
def remote(url: str) -> RemoteGraph:
    """The served graph."""
    return RemoteGraph(GRAPH, url=url, api_key="none")


@pytest.fixture
def config(remote: RemoteGraph) -> Any:
    """The config of a new thread."""
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


def said(messages: list[Any]) -> list[Shown]:
    """Messages as objects or as JSON, as a person would read them."""
    read = [message if isinstance(message, dict) else message.model_dump() for message in messages]
    return [Shown("user" if one["type"] == "human" else "assistant", text_of(one["content"])) for one in read]


def newest(model: FakeOpenAI, turns: int) -> list[Shown]:
    """What was said in the newest turns."""
    return conversation(model.replies[-turns:])


async def test_ainvoke_gives_the_conversation_and_nothing_else(
    remote: RemoteGraph, config: Any, model: FakeOpenAI
) -> None:
    for text in notes(5):
        output = await remote.ainvoke({"messages": [("user", text)]}, config)
    assert list(output) == ["messages"]
    assert said(output["messages"]) == newest(model, 5)
    state = await remote.aget_state(config)
    assert said(state.values["messages"]) == newest(model, 5)


async def test_astream_shows_the_reply_and_no_summary(remote: RemoteGraph, config: Any, model: FakeOpenAI) -> None:
    for text in notes(4):
        parts = [
            part
            async for part in remote.astream({"messages": [("user", text)]}, config, stream_mode=["values", "messages"])
        ]
    values = [part[1] for part in parts if part[0] == "values"]
    tokens = [part[1][0] for part in parts if part[0] == "messages"]
    assert said(values[-1]["messages"]) == newest(model, 4)
    assert "".join(token["content"] for token in tokens) == model.replies[-1][1]
    assert CANARY not in json.dumps([value["messages"] for value in values] + tokens)


async def test_as_a_node_it_goes_on_with_its_parents_thread(
    remote: RemoteGraph, config: Any, model: FakeOpenAI
) -> None:
    """The parent gives it all messages in each turn, and gets them back: none is there twice, none is missing."""
    parent = (
        StateGraph(MessagesState)
        .add_node("everthread", remote)
        .add_edge(START, "everthread")
        .add_edge("everthread", END)
        .compile(checkpointer=InMemorySaver())
    )
    for number, text in enumerate(notes(5), 1):
        state = await parent.ainvoke({"messages": [("user", text)]}, config)
        assert said(state["messages"]) == newest(model, number)
    assert CANARY not in str(state)
