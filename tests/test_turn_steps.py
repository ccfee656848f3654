"""What a turn leaves in the history of its thread, and what clients see while it runs."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import BrokenModel, EchoModel, counting_model, say, thread
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt
from scripted import calls, scripted

from everthread import ModelError, Settings, open_graph
from everthread.graph.conversation import Conversation

ADA: Any = {"user_id": "ada"}


async def steps(graph: Conversation, to: str = "t1") -> list[Any]:
    return [snapshot async for snapshot in graph.aget_state_history(thread(to))]


async def parents_are_there(graph: Conversation) -> bool:
    found = await steps(graph)
    ids = {step.config["configurable"]["checkpoint_id"] for step in found}
    parents = [step.parent_config["configurable"]["checkpoint_id"] for step in found if step.parent_config]
    return set(parents) <= ids and len(found) - len(parents) == 1


async def test_a_turn_leaves_at_most_three_steps_in_the_history(stored: Settings, embeddings: Embeddings) -> None:
    async with open_graph(stored, model=counting_model(), embeddings=embeddings) as graph:
        await say(graph, "Hello.")
        assert len(await steps(graph)) == 3
        for n in range(6):
            before = len(await steps(graph))
            await say(graph, f"Remark {n} about the garden.")
            assert len(await steps(graph)) - before <= 3
        newest = (await steps(graph))[:10]
        questions = {m.text for step in newest for m in step.values.get("messages", []) if isinstance(m, HumanMessage)}
        assert {f"Remark {n} about the garden." for n in range(2, 6)} <= questions
        assert await parents_are_there(graph)


async def test_calls_of_tools_are_not_run_again_and_leave_no_steps(stored: Settings, embeddings: Embeddings) -> None:
    runs: list[str] = []

    @tool
    def look(what: str) -> str:
        """Look something up."""
        runs.append(what)
        return f"{what} is blue"

    model = scripted(calls(("look", {"what": "sky"})), calls(("look", {"what": "sea"})), "Both are blue.")
    async with open_graph(stored, model=model, embeddings=embeddings, tools=[look]) as graph:
        state = await say(graph, "Which colour?")
        assert [m.type for m in state["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]
        assert runs == ["sky", "sea"]
        assert len(await steps(graph)) == 3
        assert await parents_are_there(graph)


async def test_a_failed_turn_says_where_and_is_resumed(stored: Settings, embeddings: Embeddings) -> None:
    async with open_graph(stored, model=BrokenModel(prompts=[]), embeddings=embeddings) as graph:
        with pytest.raises(ModelError):
            await say(graph, "Finish this.")
        state = await graph.aget_state(thread())
        assert state.next == ("llm_call",)
        assert "the provider is down" in str(state.tasks[0].error)
    async with open_graph(stored, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        state = await graph.ainvoke(None, thread(), context=ADA)
        assert [m.text for m in state["messages"]] == ["Finish this.", "You said: Finish this."]
        if stored.storage_kind != "json":  # whose file holds the newest checkpoint alone
            assert await parents_are_there(graph)


async def test_a_run_that_stops_between_nodes_goes_on_with_what_was_remembered(
    stored: Settings, embeddings: Embeddings
) -> None:
    model = EchoModel(prompts=[])
    async with open_graph(stored, model=model, embeddings=embeddings) as graph:
        await say(graph, "My dog is called Biscuit.", to="other")
        await graph.asettled()
        given = {"messages": [("user", "What is the name of my dog?")]}
        await graph.ainvoke(given, thread(), context=ADA, interrupt_before=["llm_call"])
        assert (await graph.aget_state(thread())).next == ("llm_call",)
        await graph.ainvoke(None, thread(), context=ADA)
        assert "Biscuit" in str(model.prompts[-1])
        assert (await graph.aget_state(thread())).next == ()
        await graph.ainvoke(given, thread("t2"), context=ADA, interrupt_after="*")
        for _ in range(12):
            if not (await graph.aget_state(thread("t2"))).next:
                break
            await graph.ainvoke(None, thread("t2"), context=ADA, interrupt_after="*")
        assert len((await graph.aget_state(thread("t2"))).values["messages"]) == 2


async def test_an_interrupt_in_the_responder_waits_for_its_answer(stored: Settings, embeddings: Embeddings) -> None:
    def ask(_: Any) -> AIMessage:
        return AIMessage(f"You decided: {interrupt('Which?')}")

    async with open_graph(stored, responder=ask, embeddings=embeddings) as graph:
        out = await graph.ainvoke({"messages": [("user", "Choose.")]}, thread(), context=ADA)
        assert out["__interrupt__"][0].value == "Which?"
    async with open_graph(stored, responder=ask, embeddings=embeddings) as graph:
        assert (await graph.aget_state(thread())).next == ("llm_call",)
        out = await graph.ainvoke(Command(resume="tea"), thread(), context=ADA)
        assert [m.text for m in out["messages"]] == ["Choose.", "You decided: tea"]


async def test_sync_runs_store_as_little(stored: Settings, embeddings: Embeddings) -> None:
    import asyncio

    async with open_graph(stored, model=counting_model(), embeddings=embeddings) as graph:
        for n in range(3):
            await asyncio.to_thread(graph.invoke, {"messages": [("user", f"Remark {n}.")]}, thread(), context=ADA)
        assert len(await steps(graph)) == 7
        assert len((await graph.aget_state(thread())).values["messages"]) == 6


async def test_events_tell_what_happens(settings: Settings, embeddings: Embeddings) -> None:
    async with open_graph(settings, model=counting_model(), embeddings=embeddings) as graph:
        events: list[dict[str, Any]] = []
        for n in range(3):
            stream = graph.astream(
                {"messages": [("user", f"Remark {n}.")]}, thread(), context=ADA, stream_mode="custom"
            )
            events += [event async for event in stream]
    names = [event["everthread"] for event in events]
    assert names[:2] == ["remembering", "remembered"]
    assert events[1] == {"everthread": "remembered", "memories": 0}
    assert events[-1] == {"everthread": "summarizing", "messages": 3, "level": 1}


async def test_each_message_is_streamed_once_under_its_final_id(settings: Settings, embeddings: Embeddings) -> None:
    async with open_graph(settings, model=counting_model("one two three {n}"), embeddings=embeddings) as graph:
        seen: dict[str, str] = {}
        for n in range(8):
            stream = graph.astream(
                {"messages": [("user", f"Remark {n}.")]}, thread(), context=ADA, stream_mode="messages"
            )
            async for message, _ in stream:
                seen[message.id] = seen.get(message.id, "") + message.text
        replies = {m.id: m.text for m in (await graph.aget_state(thread())).values["messages"] if m.type == "ai"}
        assert seen == replies
