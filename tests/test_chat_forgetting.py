"""Requests to forget in a conversation: what was meant is gone from everywhere, and the request is not recalled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conversation import EchoModel, open_with, say, thread
from langchain.agents import create_agent
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from everthread import Everthread, Settings, build_graph, examine, open_memory
from everthread.graph.conversation import CompiledConversation
from everthread.maintenance.proof import prove
from everthread.runtime.forget_needles import Needles

CANARY = "Canaryville7731"


class Notes(EchoModel):
    """A chat model that repeats the end of what the user said."""

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"Noted: {messages[-1].text[-30:]}"))])


async def test_what_was_said_is_gone_from_every_file_of_each_storage(at_hand: Settings) -> None:
    """Also where it was summarized, and said in another thread; the request does not name it."""
    embeddings = DeterministicFakeEmbedding(size=8)
    async with open_with(at_hand, model=Notes(prompts=[]), embeddings=embeddings) as graph:
        await say(graph, "Hello, what a fine day it is here.")
        await say(graph, f"I live in {CANARY}. My dog is called Rex.")
        for n in range(6):
            await say(graph, f"We talked about the garden and the tomatoes of row {n}.")
        await say(graph, f"I live in {CANARY}.", to="t2")
        await say(graph, "The bus was late.", to="t2")
        await graph.asettled()  # type: ignore[attr-defined]
        state = await say(graph, "Forget my address.")
        assert state["facts"].forgotten.summaries
        await graph.asettled()  # type: ignore[attr-defined]
        proof = await prove(graph.resources.database, "ada", Needles((CANARY,), 1))  # type: ignore[attr-defined]
        assert proof.remains == ()
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        assert "My dog is called Rex" in [fact.text for fact in await user.facts.all_facts()]
        for to in ("t1", "t2"):
            state = await say(graph, "And how did it go on?", to=to)
            assert CANARY not in str(state["context"].messages)
        await graph.asettled()  # type: ignore[attr-defined]
        assert [finding for checkup in await examine(graph, "ada") for finding in checkup.findings] == []


async def found(graph: CompiledConversation, question: str, *, to: str = "elsewhere") -> str:
    """What is recalled and known for a question in another thread, as one text."""
    await graph.asettled()  # type: ignore[attr-defined]
    state = await say(graph, question, to=to)
    memories = [fragment.content for memory in state["recall"].memories for fragment in memory.fragments]
    return "\n".join([*memories, *state["facts"].lines])


async def test_what_is_to_be_forgotten_is_gone_and_so_is_the_request(graph: CompiledConversation) -> None:
    await say(graph, "I live in Oslo", to="one")
    await say(graph, "I have a dog called Rex.", to="one")
    assert "Oslo" in await found(graph, "Do I live in a city?", to="before")
    state = await say(graph, "Forget that I live in Oslo", to="one")
    assert state["facts"].forgotten.is_done
    said = [message.text for message in state["messages"]]
    assert said[:1] + said[2:3] == ["I have a dog called Rex.", "Forget that I live in Oslo"]
    assert "Oslo" not in said[1]
    told = await found(graph, "Do I live in a city?")
    assert "Oslo" not in told
    assert "Rex" in await found(graph, "What is my dog called?", to="third")
    state = await say(graph, "And now?", to="one")
    assert "Oslo" not in " ".join(message.text for message in state["context"].messages)
    assert isinstance(state["messages"][-1], AIMessage)


@pytest.mark.parametrize("again", ["from a parent's state", "by a client", "by a client with ids", "by an agent"])
async def test_what_is_forgotten_does_not_come_back_when_it_is_sent_again(
    settings: Settings, embeddings: Any, echo: EchoModel, again: str
) -> None:
    """The state of a graph around ours holds it still; a client sends the whole history with each turn."""
    config: Any = {"configurable": {"thread_id": "one", "everthread": {"user_id": "ada"}}}
    history: list[Any] = []
    graph: Any = build_graph(settings, model=echo, embeddings=embeddings)
    if again == "by an agent":
        middleware = Everthread(settings, embeddings=embeddings)
        outer: Any = create_agent(echo, [], middleware=[middleware], checkpointer=InMemorySaver())
        resources = middleware.resources
    elif again == "from a parent's state":
        part = graph.compile()
        outer = StateGraph(MessagesState).add_node("chat", part).add_edge(START, "chat")
        outer, resources = outer.compile(checkpointer=InMemorySaver()), part.resources
    else:
        outer = graph.compile(checkpointer=InMemorySaver())
        resources = outer.resources

    async def tell(text: str) -> None:
        asked = HumanMessage(text, id=text if "ids" in again else None)
        history.append(asked)
        state = await outer.ainvoke({"messages": list(history) if "client" in again else [asked]}, config)
        history.append(
            AIMessage(state["messages"][-1].content, id=state["messages"][-1].id if "ids" in again else None)
        )
        await resources.background.settled()

    user = resources.of_user("ada")
    for text in (
        "I live in Oslo. My dog is Rex.",
        "The bus is late.",
        "Forget that I live in Oslo.",
        "I like tea.",
        "And?",
    ):
        await tell(text)
    said = await user.archive.page("one", with_left=True)
    assert "Oslo" not in f"{[m.text for m in said]} {[fact.text for fact in await user.facts.all_facts()]}"
    assert [m.text for m in said if m.role == "user"] == ["My dog is Rex.", "The bus is late.", "I like tea.", "And?"]
    assert "Oslo" not in " ".join(message.text for message in echo.prompts[-1])
    await tell("I live in Oslo.")  # said once more, it counts
    assert "I live in Oslo" in [fact.text for fact in await user.facts.all_facts()]
    await resources.close()


async def test_what_else_a_message_says_stays_where_it_was(graph: CompiledConversation) -> None:
    await say(graph, "I live in Oslo. My dog is called Rex.", to="one")
    await say(graph, "I like tea.", to="one")
    state = await say(graph, "Forget that I live in Oslo.", to="one")
    assert state["messages"][0].text == "My dog is called Rex."
    assert "Oslo" not in " ".join(message.text for message in state["messages"][:-2])
    await graph.asettled()  # type: ignore[attr-defined]
    user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
    assert {fact.text for fact in await user.facts.all_facts()} == {"My dog is called Rex", "I like tea"}
    kept = await user.archive.messages("one")
    assert [message.text for message in kept if message.role == "user"] == ["My dog is called Rex.", "I like tea."]


async def test_where_it_is_not_clear_nothing_goes_and_the_model_is_told_to_ask(graph: CompiledConversation) -> None:
    await say(graph, "I have an appointment with the dentist on Monday.", to="one")
    await say(graph, "My appointment with Bob is on Tuesday.", to="one")
    state = await say(graph, "Forget my appointment.", to="one")
    forgotten = state["facts"].forgotten
    assert not forgotten.is_done
    assert len(forgotten.may_be_meant) == 2
    prompt = " ".join(message.text for message in state["context"].messages)
    assert "ask which of these is meant" in prompt
    assert "on Monday" in await found(graph, "When do I see the dentist?")


async def test_what_was_done_is_told_to_the_model_in_the_report_and_as_an_event(graph: CompiledConversation) -> None:
    await say(graph, "I live in Oslo.", to="one")
    config = thread("one")
    events = [
        event
        async for event in graph.astream(
            {"messages": [("user", "Forget that I live in Oslo.")]},
            config,
            context={"user_id": "ada"},
            stream_mode="custom",
        )
    ]
    assert {"everthread": "forgotten", "messages": 2, "facts": 1, "unclear": False} in events
    state = (await graph.aget_state(config)).values
    assert state["report"]["forgotten"]["messages"] == 2
    assert state["report"]["question"] == ""
    assert "Oslo" not in str(state["report"])


async def test_a_whole_conversation_can_be_forgotten_and_the_thread_goes_on(graph: CompiledConversation) -> None:
    await say(graph, "I live in Oslo.", to="one")
    await say(graph, "I like tea.", to="two")
    state = await say(graph, "Forget this conversation.", to="one")
    assert [message.text for message in state["messages"]][:1] == ["Forget this conversation."]
    assert "Oslo" not in await found(graph, "Where do I live?")
    assert "tea" in await found(graph, "What do I like to drink?", to="third")
    state = await say(graph, "I live in Rome.", to="one")
    assert "Rome" in await found(graph, "Where do I live now?", to="fourth")


async def test_what_only_sounds_like_a_request_removes_nothing(graph: CompiledConversation) -> None:
    await say(graph, "I live in Oslo.", to="one")
    for text in ("I forget things.", "forget it", "Don't forget my keys.", "He told me to forget her."):
        state = await say(graph, text, to="one")
        assert state["facts"].forgotten is None
    assert len(state["messages"]) == 10


async def test_what_stands_beside_a_request_is_learned(graph: CompiledConversation) -> None:
    await say(graph, "I live in Oslo.", to="one")
    state = await say(graph, "Forget that I live in Oslo. I live in Bergen now.", to="one")
    assert state["messages"][-2].text == "I live in Bergen now."
    told = await found(graph, "Where do I live?")
    assert "Bergen" in told
    assert "Oslo" not in told


async def test_the_conversation_stays_one_that_providers_take(graph: CompiledConversation) -> None:
    await say(graph, "I live in Oslo.", to="one")
    for text in ("I like tea.", "Forget that I live in Oslo.", "I like jam.", "Forget that I like tea.", "And now?"):
        state = await say(graph, text, to="one")
    said = [message for message in state["context"].messages if message.type in {"human", "ai"}]
    assert [message.type for message in said] == ["human", "ai"] * (len(said) // 2) + ["human"]
    assert "tea" not in " ".join(message.text for message in said)


async def test_a_request_under_another_name_removes_nothing(graph: CompiledConversation) -> None:
    await say(graph, "I live in Oslo.", to="one")
    asked = HumanMessage("Forget that I live in Oslo.", name="bob")
    state = await say(graph, {"messages": [asked]}, to="one")
    assert state["facts"].forgotten is None
    assert state["messages"][0].text == "I live in Oslo."


async def test_a_request_that_comes_through_the_memory_without_the_graph(settings: Settings, embeddings: Any) -> None:
    async with open_memory(settings, user_id="ada", embeddings=embeddings) as memory:
        await memory.aremember([("user", "I live in Oslo."), ("assistant", "Noted.")], thread_id="one")
        await memory.aremember([("user", "Forget that I live in Oslo."), ("assistant", "Done.")], thread_id="one")
        await memory.aremember([("user", "I like tea."), ("assistant", "Noted.")], thread_id="one")
        async with memory.resources.locks.hold("one"):  # as a turn that runs
            asked = asyncio.create_task(memory.acontext("Forget that I like tea.", thread_id="one"))
            await asyncio.sleep(0.5)
            assert "I like tea." in [message.text for message in await memory.ahistory("one")]
        await asked
        await memory.aremember([("user", "I like jam."), ("assistant", "Noted.")], thread_id="one")
        assert [message.text for message in await memory.ahistory("one")] == ["I like jam.", "Noted."]
