"""Streaming in every mode LangGraph offers: tokens one by one, and nothing internal among them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from conversation import thread
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessageChunk, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from scripted import ScriptedModel, calls, scripted

from everthread import Settings, open_graph
from everthread.runtime.chat_models import ChatModels

WORDS = ["It ", "rains ", "in ", "Oslo."]
SECRET = "INTERNAL"
TOLD = [{"everthread": "remembering"}, {"everthread": "remembered", "memories": 0}, {"looking at": "Oslo"}]
"""What stream mode `custom` tells: what everthread does, under its own key, and what a tool writes."""


@tool
async def weather(city: str, config: RunnableConfig) -> str:
    """The weather in a city."""
    get_stream_writer()({"looking at": city})
    inner = scripted(f"{SECRET} thoughts of a tool")
    await inner.ainvoke("think", {**config, "tags": ["nostream"]})
    return f"rain in {city}"


class Internal(ScriptedModel):
    """What a summarizer or router says."""


@pytest.fixture
async def graph(settings: Settings, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """A graph whose router and summarizer are models, too, which speak at once."""
    inner = Internal(script=[f"{SECRET}: yes, a summary of what was said about the weather in Oslo."], prompts=[])

    async def internal(self: ChatModels, settings: Settings) -> Any:
        return inner

    monkeypatch.setattr(ChatModels, "router", internal)
    monkeypatch.setattr(ChatModels, "summarizer", internal)
    script: list[Any] = []
    for n in range(4):
        script += [calls(("weather", {"city": "Oslo"}), ids=[f"c{n}"]), "It rains in Oslo."]
    values: Any = {"summary_model": None, "web_search": "off", "n_sum": 6}
    async with open_graph(settings.but(**values), model=scripted(*script), tools=[weather], embeddings=embeddings) as g:
        g.inner = inner  # type: ignore[attr-defined]
        yield g


def turn(graph: Any, mode: Any, **options: Any) -> Any:
    question = {"messages": [("user", "What is the weather in Oslo?")]}
    return graph.astream(question, thread(), context={"user_id": "ada"}, stream_mode=mode, **options)


@pytest.mark.usefixtures("eager")
async def test_messages_come_token_by_token_with_tool_results_and_nothing_else(graph: Any) -> None:
    for _ in range(3):
        parts = [part async for part in turn(graph, "messages")]
        texts = [message.text for message, where in parts if where["langgraph_node"] == "llm_call" and message.text]
        assert texts == WORDS
        told = [message for message, where in parts if where["langgraph_node"] == "tools"]
        assert [message.text for message in told] == ["rain in Oslo"]
        assert isinstance(told[0], ToolMessage)
        assert {where["langgraph_node"] for _, where in parts} == {"llm_call", "tools"}
        assert SECRET not in str(parts)
        pieces = [m for m, _ in parts if isinstance(m, AIMessageChunk) and m.tool_call_chunks]
        assert pieces[0].tool_call_chunks[0]["name"] == "weather"
        await graph.asettled()
    assert graph.inner.prompts, "the summarizer has spoken, and nobody heard it"


async def test_each_message_has_one_id_in_the_stream_and_in_the_state(graph: Any) -> None:
    ids = [message.id async for message, _ in turn(graph, "messages")]
    kept = [message.id for message in (await graph.aget_state(thread())).values["messages"]]
    assert list(dict.fromkeys(ids)) == kept[1:]


async def test_what_leaves_the_conversation_for_the_archive_is_not_streamed(
    settings: Settings, embeddings: Embeddings
) -> None:
    async with open_graph(settings.but(visible_messages=4), model=scripted("Fine."), embeddings=embeddings) as graph:
        for n in range(5):
            question = {"messages": [("user", f"Remark {n}.")]}
            stream = graph.astream(question, thread(), context={"user_id": "ada"}, stream_mode="messages")
            assert "".join([message.text async for message, _ in stream]) == "Fine."
        kept = (await graph.aget_state(thread())).values["messages"]
    assert [message.text for message in kept] == ["Remark 3.", "Fine.", "Remark 4.", "Fine."]


async def test_the_output_of_a_turn_is_the_conversation_and_nothing_internal(graph: Any) -> None:
    for _ in range(3):
        question = {"messages": [("user", "What is the weather in Oslo?")]}
        output = await graph.ainvoke(question, thread(), context={"user_id": "ada"})
        assert output.keys() == {"messages"}
    assert [message.type for message in output["messages"]] == ["human", "ai", "tool", "ai"] * 3
    assert SECRET not in str(output)


async def test_values_updates_custom_and_debug(graph: Any) -> None:
    modes = ["values", "updates", "custom", "debug", "tasks", "checkpoints"]
    parts: dict[str, list[Any]] = {mode: [] for mode in modes}
    async for mode, part in turn(graph, modes):
        parts[mode].append(part)
    lengths = [len(values["messages"]) for values in parts["values"] if "messages" in values]
    assert (lengths[0], max(lengths), lengths) == (1, 4, sorted(lengths))
    nodes = [name for update in parts["updates"] for name in update]
    assert nodes[nodes.index("context_assembly") :][:5] == [
        "context_assembly",
        "llm_call",
        "tools",
        "llm_call",
        "remember",
    ]
    assert parts["custom"] == TOLD
    assert {part["type"] for part in parts["debug"]} == {"task", "task_result", "checkpoint"}
    assert sum("input" in part and part["name"] == "tools" for part in parts["tasks"]) == 1
    assert len(parts["checkpoints"]) >= 6


async def test_events_v2_have_the_tokens_and_internal_models_are_tagged(graph: Any) -> None:
    for _ in range(2):
        events = [
            event
            async for event in graph.astream_events(
                {"messages": [("user", "Weather in Oslo?")]}, thread(), context={"user_id": "ada"}, version="v2"
            )
        ]
        spoken = [event for event in events if event["event"] == "on_chat_model_stream"]
        seen = [event["data"]["chunk"].text for event in spoken if "nostream" not in event.get("tags", [])]
        assert [text for text in seen if text] == WORDS
        assert any(event["event"] == "on_tool_end" and event["name"] == "weather" for event in events)
    assert any(SECRET in str(event["data"]) for event in spoken if "nostream" in event["tags"])


def test_streaming_works_without_async(settings: Settings, embeddings: Embeddings) -> None:
    model = scripted(calls(("weather", {"city": "Oslo"})), "It rains in Oslo.")
    with open_graph(settings, model=model, tools=[weather], embeddings=embeddings) as graph:
        parts = list(
            graph.stream({"messages": [("user", "Oslo?")]}, thread(), stream_mode=["messages", "custom", "updates"])
        )
    texts = [part[0].text for mode, part in parts if mode == "messages" and part[1]["langgraph_node"] == "llm_call"]
    assert [text for text in texts if text] == WORDS
    assert [part for mode, part in parts if mode == "custom"] == TOLD


async def test_what_no_one_watches_is_not_streamed(settings: Settings, embeddings: Embeddings) -> None:
    async with open_graph(settings, model=scripted("It rains."), embeddings=embeddings) as graph:
        values = [v async for v in turn(graph, "values")]
    assert values[-1]["messages"][-1].text == "It rains."
