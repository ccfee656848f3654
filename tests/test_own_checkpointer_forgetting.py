"""What is forgotten is gone from a checkpointer of another make as well, or it is said that it may not be."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from conversation import EchoModel, say
from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from everthread import Settings, StorageError
from everthread.graph.build import ConversationGraph
from everthread.graph.conversation import Conversation
from everthread.runtime.resources import Resources

CANARY = "Canaryville7731"
SAID = f"I live in {CANARY} by the sea."


class Undeletable(InMemorySaver):
    """A checkpointer that cannot delete."""

    def delete_thread(self, thread_id: str) -> None:
        raise NotImplementedError

    async def adelete_thread(self, thread_id: str) -> None:
        raise NotImplementedError


@pytest.fixture(params=["memory", "blocking"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> BaseCheckpointSaver[Any]:
    if request.param == "memory":
        return InMemorySaver()
    return SqliteSaver(sqlite3.connect(tmp_path / "own.db", check_same_thread=False))


@pytest.fixture
async def resources(settings: Settings, embeddings: Embeddings) -> AsyncIterator[Resources]:
    made = Resources(settings, model=EchoModel(prompts=[]), embeddings=embeddings)
    await made.open()
    yield made
    await made.close()


def states(saver: BaseCheckpointSaver[Any]) -> str:
    """All that a checkpointer holds, as text."""
    return str(list(saver.list(None)))


async def tell(graph: Conversation, text: str, to: str) -> Any:
    """Say something, in the way in which the checkpointer can be used."""
    if isinstance(graph.checkpointer, InMemorySaver):
        return await say(graph, text, to=to)
    given, config = {"messages": [("user", text)]}, {"configurable": {"thread_id": to}}
    return await asyncio.to_thread(lambda: graph.invoke(given, config, context={"user_id": "ada"}))  # type: ignore[arg-type]


async def test_a_message_and_a_request_are_gone_from_it(resources: Resources, saver: BaseCheckpointSaver[Any]) -> None:
    graph = ConversationGraph(resources).compile(checkpointer=saver)
    for to in ("t1", "t2"):
        await tell(graph, "The bus was late.", to)
        await tell(graph, SAID, to)
    await tell(graph, "I like tea.", "t3")
    await tell(graph, "The gate has the code 4471-QX.", "t3")
    code = (await resources.of_user("ada").archive.messages("t3"))[2]
    assert [CANARY in states(saver), "4471-QX" in states(saver)] == [True, True]
    await graph.aforget("ada", "t3", messages=[code.id])
    assert [CANARY in states(saver), "4471-QX" in states(saver)] == [True, False]
    state = await tell(graph, "Forget my address.", "t1")
    assert state["messages"][0].text == "The bus was late."
    assert CANARY not in states(saver)
    state = await tell(graph, "And on.", "t2")
    assert [m.text for m in state["messages"] if m.type == "human"] == ["The bus was late.", "And on."]
    await graph.adelete("ada", "t3")
    assert "I like tea." not in states(saver)


async def test_where_it_cannot_be_rewritten_that_is_said(resources: Resources) -> None:
    graph = ConversationGraph(resources).compile(checkpointer=Undeletable())
    await say(graph, SAID)
    with pytest.raises(StorageError, match=r"It is forgotten, but the checkpointer of your own .* \('t1'\)"):
        await graph.adelete("ada", "t1")
    assert await resources.of_user("ada").archive.messages("t1") == []
