"""Memory without the graph: `open_memory`, the middleware for LangChain's agents, retriever, tools and chat history."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import pytest
from conversation import EchoModel, counting_model, say, thread
from fakes.embeddings import WORDS
from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from pydantic import BaseModel
from scripted import calls, scripted

import everthread
from everthread import (
    ConversationMemory,
    Everthread,
    InputError,
    MemoryRetriever,
    Settings,
    SettingsError,
    ThreadHistory,
    ThreadOwnershipError,
    build_graph,
    find_report,
    memory_tools,
    open_graph,
    open_memory,
    thread_id,
)
from everthread.storage.open import checkpointer_of, storage_of

TALK = [("user", "My dog is called Biscuit."), ("assistant", "A fine name."), ("user", "I live in Oslo.")]


@pytest.fixture
async def memory(settings: Settings, embeddings: Embeddings) -> AsyncIterator[ConversationMemory]:
    async with open_memory(settings, user_id="ada", embeddings=embeddings) as memory:
        yield memory


@pytest.fixture
async def middleware(settings: Settings, embeddings: Embeddings) -> AsyncIterator[Everthread]:
    middleware = Everthread(settings, embeddings=embeddings)
    yield middleware
    await middleware.aclose()


async def test_a_person_can_add_correct_and_confirm_a_fact_and_see_why_it_is_believed(
    stored: Settings, embeddings: Embeddings
) -> None:
    async with open_memory(stored, user_id="ada", embeddings=embeddings) as memory:
        assert await memory.aremember(TALK, thread_id="t1") == 3
        await memory.asettled()
        (home,) = [fact for fact in await memory.afacts() if fact.attribute == "home"]
        assert await memory.afact_source(home) == "I live in Oslo."
        assert (await memory.aconfirm_fact(home.id)).confidence == 1.0
        (moved,) = await memory.aadd_fact("I live in Bergen", corrects=home.id)
        (odd,) = await memory.aadd_fact("Blue, mostly")
        states = {fact.text: fact.state for fact in await memory.afacts()}
        assert states["I live in Oslo"] == "superseded"
        assert states["I live in Bergen"] == states["Blue, mostly"] == "current"
        assert (moved.origin, odd.origin) == ("user", "user")
        assert await memory.afact_source(odd) == "Blue, mostly"
        with pytest.raises(InputError, match="no fact with the id"):
            await memory.aconfirm_fact(home.id)
        other = memory.of("bob")
        await other.aadd_fact("I live in Rome")
        with pytest.raises(InputError, match="no fact with the id"):
            await other.aconfirm_fact(moved.id)
        assert await other.afact_source(moved) is None


async def test_recall_as_of_a_moment_knows_nothing_of_what_was_said_later(
    stored: Settings, embeddings: Embeddings
) -> None:
    day = datetime(2024, 3, 4, 10, tzinfo=UTC)
    said = [
        ("user", "I work as a baker in Ghent.", 0), ("assistant", "Good bread, then.", 0),
        ("user", "I work as a welder in Ghent.", 40), ("assistant", "A change!", 41),
    ]  # fmt: skip
    async with open_memory(stored, user_id="ada", embeddings=embeddings) as memory:
        for n, (role, text, days) in enumerate(said):
            kind = HumanMessage if role == "user" else AIMessage
            at = (day + timedelta(days=days)).isoformat()
            await memory.aremember([kind(text, id=f"m{n}", additional_kwargs={"created_at": at})], thread_id="t1")
        await memory.asettled()

        async def told(**as_of: Any) -> set[str]:
            found = await memory.arecall("Where do I work in Ghent?", **as_of)
            return {part.content for one in found for part in one.fragments}

        assert await told() == {text for _, text, _ in said}
        assert await told(as_of=day + timedelta(days=40, hours=1)) == {text for _, text, days in said if days <= 40}
        assert await told(as_of=day + timedelta(days=1)) == {text for _, text, days in said if not days}
        assert await told(as_of=day - timedelta(days=1)) == set()
        with pytest.raises(InputError, match="zone"):
            await memory.arecall("work", as_of=datetime(2024, 3, 4))  # that is what is refused


SHARED = [
    ({"type": "image", "url": "https://example.org/p/harbour-sunset.jpg?sig=abc", "mime_type": "image/jpeg"}, "sunset"),
    ({"type": "image_url", "image_url": {"url": "https://example.org/whiteboard%20sketch.png"}}, "whiteboard"),
    ({"type": "file", "base64": "QUJD", "mime_type": "application/pdf", "filename": "lease-agreement.pdf"}, "lease"),
    ({"type": "file", "file": {"file_data": "data:;base64,QUJD", "filename": "payslip.pdf"}}, "payslip"),
    ({"type": "document", "source": {"type": "text", "data": "x"}, "title": "Minutes of the choir"}, "choir"),
    ({"type": "audio", "base64": "QUJD", "mime_type": "audio/wav", "extras": {"name": "lullaby"}}, "lullaby"),
    ({"type": "text", "text": "See https://example.org/recipes/gooseberry-crumble"}, "gooseberry"),
]


@pytest.mark.parametrize(("block", "word"), SHARED)
async def test_what_was_shared_is_found_by_what_it_was_called(
    stored: Settings, real_embeddings: Embeddings, block: dict[str, Any], word: str
) -> None:
    async with open_memory(stored, user_id="ada", embeddings=real_embeddings) as memory:
        await memory.aremember([*TALK, HumanMessage([block]), AIMessage("Thank you.")], thread_id="t1")
        await memory.asettled()
        first = (await memory.arecall(f"Where is the {word} that I shared?", limit=1))[0]
    assert any(word in part.content.casefold() for part in first.fragments)
    assert not any("sig=abc" in part.content for part in first.fragments)


async def test_a_tools_result_is_found_by_what_it_says(memory: ConversationMemory) -> None:
    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": "c1"}])
    result = ToolMessage("Flight QX-4471 leaves Brindisi at noon.", tool_call_id="c1")
    await memory.aremember([*TALK, HumanMessage("When do I fly?"), call, result, AIMessage("At noon.")], thread_id="t1")
    await memory.asettled()
    first = (await memory.arecall("QX-4471 from Brindisi", limit=1))[0]
    assert "Brindisi" in " ".join(part.content for part in first.fragments)


async def test_what_is_remembered_is_recalled_listed_and_known(stored: Settings, embeddings: Embeddings) -> None:
    async with open_memory(stored, user_id="ada", embeddings=embeddings) as memory:
        assert await memory.aremember(TALK, thread_id="t1") == 3
        await memory.asettled()
        found = await memory.arecall("What is my dog called?")
        assert "Biscuit" in found[0].fragments[0].content
        assert found[0].thread_id == "t1"
        assert [row.text for row in await memory.ahistory("t1")] == [text for _, text in TALK]
        assert [row["thread_id"] for row in await memory.athreads()] == ["t1"]
        assert "I live in Oslo" in [fact.text for fact in await memory.afacts()]


def test_it_works_in_blocking_code_as_well(settings: Settings, embeddings: Embeddings) -> None:
    with open_memory(settings, user_id="ada", embeddings=embeddings) as memory:
        assert memory.remember(TALK, thread_id="t1") == 3
        memory.settled()
        assert "Biscuit" in memory.recall("my dog")[0].fragments[0].content
        assert "Oslo" in memory.context("Where do I live?", thread_id="t2")[0].text
        assert len(memory.history("t1")) == 3
        assert [memory.pins(), memory.summaries("t1")] == [[], []]
        (oslo,) = [fact for fact in memory.facts() if "Oslo" in fact.text]
        assert memory.forget_fact(oslo.id, keep_said=True).messages == 0
        assert "Oslo" in str([row.text for row in memory.history("t1")])
        assert memory.forget_fact(oslo.id).messages == 1
        assert "Oslo" not in str([row.text for row in memory.history("t1")])
        assert memory.delete().messages == 2
        assert memory.threads() == []


async def test_the_same_messages_are_kept_once(memory: ConversationMemory) -> None:
    assert await memory.aremember(TALK, thread_id="t1") == 3
    assert await memory.aremember(TALK, thread_id="t1") == 0
    assert await memory.aremember([*TALK, ("user", "And I like tea.")], thread_id="t1") == 1
    named = [HumanMessage("Hello", id="1")]
    assert [await memory.aremember(named, thread_id="t2"), await memory.aremember(named, thread_id="t2")] == [1, 0]


async def test_nothing_of_another_user_is_found_or_changed(memory: ConversationMemory) -> None:
    await memory.aremember(TALK, thread_id="t1")
    await memory.asettled()
    other = memory.of("bob")
    assert await other.arecall("What is my dog called?") == []
    assert await other.ahistory("t1") == []
    with pytest.raises(ThreadOwnershipError):
        await other.aremember([("user", "I took this thread.")], thread_id="t1")
    with pytest.raises(ThreadOwnershipError):
        await other.acontext("What was said?", thread_id="t1")
    with pytest.raises(InputError):
        await other.adelete("t1")
    assert len(await memory.ahistory("t1")) == 3


async def test_a_recall_is_of_one_thread_where_it_is_named_and_as_long_as_wanted(memory: ConversationMemory) -> None:
    for n in range(6):
        await memory.aremember([("user", f"The violin lesson number {n} went well.")], thread_id=f"t{n}")
    await memory.asettled()
    assert {found.thread_id for found in await memory.arecall("violin lesson", thread_id="t3")} == {"t3"}
    assert len(await memory.arecall("violin lesson", limit=2)) == 2
    assert len(await memory.arecall("violin lesson", limit=6)) == 6
    with pytest.raises(InputError, match="non-empty"):
        await memory.arecall("  ")


async def test_the_context_is_what_the_graph_would_send(
    settings: Settings, embeddings: Embeddings, echo: EchoModel
) -> None:
    base = settings.but(system_prompt="Be brief.", user_id="ada")
    async with open_graph(base, model=echo, embeddings=embeddings) as graph:
        for n in range(12):
            await say(graph, f"The violin lesson number {n} went well.")
        await graph.asettled()
        async with open_memory(base, user_id="ada", embeddings=embeddings) as memory:
            made = await memory.acontext("Which violin lesson?", thread_id="t1", instructions="Be brief.")
        await say(graph, "Which violin lesson?")
        assert [message.text for message in made] == [message.text for message in echo.prompts[-1]]


async def test_a_thread_begun_here_goes_on_in_the_graph(
    settings: Settings, embeddings: Embeddings, echo: EchoModel
) -> None:
    async with open_memory(settings, user_id="ada", embeddings=embeddings) as memory:
        await memory.aremember(TALK, thread_id="t1")
    async with open_graph(settings, model=echo, embeddings=embeddings) as graph:
        state = await say(graph, "What did I say?")
        assert [message.text for message in state["messages"]][:3] == [text for _, text in TALK]
        assert "Biscuit" in "".join(message.text for message in echo.prompts[-1])


async def test_a_long_conversation_is_summarized_and_its_context_stays_small(memory: ConversationMemory) -> None:
    for n in range(30):
        pair = [("user", f"Tell me about whale number {n}. " * 8), ("assistant", f"Whale {n} sings at night. " * 8)]
        await memory.aremember(pair, thread_id="t1")
    summaries = await memory.asummaries("t1")
    assert summaries
    made = await memory.acontext("And whale 31?", thread_id="t1", budget=900)
    assert sum(len(message.text) for message in made) < 900 * 6
    assert made[-1].text.endswith("And whale 31?")


async def test_a_wrong_setting_is_refused_when_it_is_opened() -> None:
    with pytest.raises(SettingsError, match="no component"):
        open_memory(colour="red")  # type: ignore[call-arg]


class Forecast(BaseModel):
    """What the weather will be."""

    city: str
    rain: bool


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"Rain in {city}."


def agent_of(middleware: Everthread, model: Any, *more: Any, tools: Any = (), **options: Any) -> Any:
    return create_agent(model, list(tools), middleware=[middleware, *more], checkpointer=InMemorySaver(), **options)


async def ask(agent: Any, text: str, *, to: str = "t1", user: str = "ada") -> Any:
    return await agent.ainvoke({"messages": [("user", text)]}, thread(to), context={"user_id": user})


async def test_an_agent_remembers_across_threads_and_not_across_users(middleware: Everthread, echo: EchoModel) -> None:
    agent = agent_of(middleware, echo, system_prompt="Be brief.")
    await ask(agent, "My dog is called Biscuit.")
    await middleware.resources.background.settled()
    await ask(agent, "What is my dog called?", to="t2")
    assert echo.prompts[-1][0].text.startswith("Be brief.")
    assert "Biscuit" in "".join(message.text for message in echo.prompts[-1])
    await ask(agent, "What is my dog called?", to="t3", user="bob")
    assert "Biscuit" not in "".join(message.text for message in echo.prompts[-1])
    assert [row.text for row in await middleware.memory("ada").ahistory("t1")] == [
        "My dog is called Biscuit.", "You said: My dog is called Biscuit.",
    ]  # fmt: skip


@pytest.mark.slow
async def test_an_agents_prompt_stays_within_the_budget_and_its_messages_stay_whole(
    settings: Settings, embeddings: Embeddings, echo: EchoModel
) -> None:
    middleware = Everthread(settings.but(max_context_tokens=2000, max_reply_tokens=200), embeddings=embeddings)
    agent = agent_of(middleware, echo)
    for n in range(20):
        state = await ask(agent, f"Whale number {n} sings at night. " * 20)
    assert len(state["messages"]) == 40
    assert max(sum(len(message.text) for message in prompt) for prompt in echo.prompts) < 2000 * 5
    assert await middleware.memory("ada").asummaries("t1")
    assert len(await middleware.memory("ada").ahistory("t1", limit=100)) == 40
    await middleware.aclose()


async def test_a_model_summarizes_for_an_agent_so_that_its_prompts_stop_growing(
    settings: Settings, embeddings: Embeddings
) -> None:
    echo = EchoModel(prompts=[])
    writer = counting_model("The user talked of the garden, part {n}.")
    middleware = Everthread(settings.but(summary_model=None), model=writer, embeddings=embeddings)
    agent = agent_of(middleware, echo)
    for n in range(16):
        await ask(agent, f"Remark {n} on the garden: {'rose ' * 30}")
        await middleware.memory("ada").asettled()
    summaries = await middleware.memory("ada").asummaries("t1")
    assert {summary.method for summary in summaries} == {"model"}
    assert len(summaries) >= 3
    await middleware.aclose()


async def test_tool_calls_of_an_agent_keep_their_results(middleware: Everthread) -> None:
    model = scripted(calls(("weather", {"city": "Oslo"})), "It rains.", "You are welcome.")
    agent = agent_of(middleware, model, tools=[weather])
    state = await ask(agent, "What is the weather in Oslo?")
    assert [type(message) for message in state["messages"]] == [HumanMessage, AIMessage, ToolMessage, AIMessage]
    assert model.prompts[1][-1].text == "Rain in Oslo."
    await ask(agent, "Thanks.")
    sent = model.prompts[-1]
    asked = [call["id"] for message in sent if isinstance(message, AIMessage) for call in message.tool_calls]
    assert asked == [message.tool_call_id for message in sent if isinstance(message, ToolMessage)]
    assert len(await middleware.memory("ada").ahistory("t1")) == 6


async def test_a_person_in_the_loop_and_a_structured_answer(middleware: Everthread) -> None:
    model = scripted(calls(("weather", {"city": "Oslo"})), "It rains.")
    agent = agent_of(middleware, model, HumanInTheLoopMiddleware(interrupt_on={"weather": True}), tools=[weather])
    stopped = await ask(agent, "What is the weather in Oslo?")
    assert stopped["__interrupt__"]
    decision: Any = Command(resume={"decisions": [{"type": "approve"}]})
    done = await agent.ainvoke(decision, thread(), context={"user_id": "ada"})
    assert done["messages"][-1].text == "It rains."
    assert len(await middleware.memory("ada").ahistory("t1")) == 4


async def test_another_users_thread_is_refused_before_the_model_is_asked(
    middleware: Everthread, echo: EchoModel
) -> None:
    agent = agent_of(middleware, echo)
    await ask(agent, "My dog is called Biscuit.")
    with pytest.raises(ThreadOwnershipError):
        await ask(agent, "What was said here?", user="bob")
    assert len(echo.prompts) == 1


def test_an_agent_in_blocking_code(settings: Settings, embeddings: Embeddings, echo: EchoModel) -> None:
    middleware = Everthread(settings, embeddings=embeddings)
    agent = agent_of(middleware, echo)
    for text in ("My dog is called Biscuit.", "What is my dog called?"):
        agent.invoke({"messages": [("user", text)]}, thread(), context={"user_id": "ada"})
    assert len(middleware.memory("ada").history("t1")) == 4
    middleware.close()


async def test_a_retriever_a_history_and_tools_work_on_the_memory(memory: ConversationMemory) -> None:
    history = ThreadHistory(memory, "t1")
    await history.aadd_messages([HumanMessage("My dog is called Biscuit."), AIMessage("A fine name.")])
    await memory.asettled()
    assert [message.text for message in await history.aget_messages()] == ["My dog is called Biscuit.", "A fine name."]
    (document,) = await MemoryRetriever(memory=memory, limit=1).ainvoke("What is my dog called?")
    assert "Biscuit" in document.page_content
    assert document.metadata["thread_id"] == "t1"
    search, remember = memory_tools(memory)
    assert "Biscuit" in await search.ainvoke({"query": "my dog's name"})
    await remember.ainvoke({"text": "I am allergic to nuts."})
    assert [row.text for row in await memory.ahistory(thread_id("notes", "ada"))] == ["I am allergic to nuts."]
    await history.aclear()
    assert await history.aget_messages() == []


LONG_TALK = [
    ("user", "How do I fix this error in my function? The problem is in `total`."),
    ("assistant", "Return the sum."),
    ("user", "Thanks!"),
    ("assistant", "You are welcome."),
]


async def test_the_context_for_a_question_changes_nothing(stored: Settings, embeddings: Embeddings) -> None:
    async with open_memory(stored, user_id="ada", embeddings=embeddings) as memory:
        await memory.aremember(TALK, thread_id="t1")
        await memory.abuild_context("Forget that my dog is called Biscuit.", thread_id="t1")
        await memory.abuild_context("What is my dog called?", thread_id="new")
        assert [message.text for message in await memory.ahistory("t1")] == [text for _, text in TALK]
        assert [row["thread_id"] for row in await memory.athreads()] == ["t1"]
        with pytest.raises(ThreadOwnershipError):
            await memory.of("bob").abuild_context("What is my dog called?", thread_id="t1")


async def test_the_context_for_a_question_is_shown_with_its_parts_and_their_importance(
    stored: Settings, embeddings: Embeddings
) -> None:
    """Seed 002, `buildContext`: recent messages with scores, pins, summaries, and the tokens of all."""
    async with open_memory(stored.but(profile="hybrid"), user_id="ada", embeddings=embeddings) as memory:
        await memory.aremember(LONG_TALK, thread_id="t1")
        await memory.apin("The total is paid in euros.", thread_id="t1", score=0.9)
        built = await memory.abuild_context("What is the total?", thread_id="t1")
        assert [(weighed.message.text, weighed.importance) for weighed in built.recent] == [
            (LONG_TALK[0][1], 0.95), (LONG_TALK[1][1], 0.55), (LONG_TALK[2][1], 0.5), (LONG_TALK[3][1], 0.9)
        ]  # fmt: skip
        assert [pin.text for pin in built.pins] == ["The total is paid in euros."]
        assert built.summaries == []
        assert 0 < built.tokens <= built.report.budget
        assert "paid in euros" in built.messages[-1].text
        assert len(await memory.ahistory("t1")) == 4
        for n in range(8):
            await memory.aremember([("user", f"Remark {n}."), ("assistant", f"Reply {n}.")], thread_id="t1")
        built = await memory.abuild_context("And now?", thread_id="t1", budget=2_000)
        assert (len(built.recent), built.summaries) == (20, [])  # what there is room for stands as it was said
        built = await memory.abuild_context("And now?", thread_id="t1", budget=170)
        assert [summary.covers for summary in built.summaries] == [15]
        assert [weighed.message.text for weighed in built.recent][-1] == "Reply 7."


async def test_a_text_is_pinned_with_score_and_source_listed_and_removed(
    stored: Settings, embeddings: Embeddings
) -> None:
    """Seed 002, `createSemanticPin`; the highest score comes first, and the message counts as much."""
    async with open_memory(stored, user_id="ada", embeddings=embeddings) as memory:
        await memory.aremember([HumanMessage("Noted.", id="m1"), AIMessage("Yes.", id="m2")], thread_id="t1")
        low = await memory.apin("The gate code is 4711.", thread_id="t1", score=0.3, source_id="m1")
        high = await memory.apin("The key is under the stone.", thread_id="t1")
        assert (high.score, high.source_id, high.kind) == (0.8, "m2", "manual")
        built = await memory.abuild_context("Anything new?", thread_id="t2")
        assert [pin.text for pin in built.pins] == [high.text, low.text]
        again = await memory.apin("The gate code is 4711.", thread_id="t1", score=1.0, source_id="m1")
        assert again.id == low.id
        built = await memory.abuild_context("Anything new?", thread_id="t1")
        assert [pin.text for pin in built.pins] == [low.text, high.text]
        assert [weighed.importance for weighed in built.recent] == [1.0, 0.8]
        assert await memory.aunpin(low.id) == low.text
        assert [pin.id for pin in await memory.apins()] == [high.id]
        with pytest.raises(InputError, match="no pin with the id"):
            await memory.aunpin(low.id)
        await memory.apin(low.text, thread_id="t1", source_id="m1")
        assert {pin.id for pin in await memory.apins()} == {low.id, high.id}
        for bad in ({"text": " "}, {"text": "x" * 1_001}, {"score": 1.5}, {"source_id": "m9"}, {"thread_id": "t9"}):
            with pytest.raises(InputError):
                await memory.apin(**{"text": "a text", "thread_id": "t1", **bad})
        assert [pin.text for pin in await memory.of("bob").apins()] == []
        with pytest.raises(InputError):
            await memory.of("bob").aunpin(high.id)


async def test_a_message_gains_by_being_asked_for_and_loses_by_being_corrected(
    stored: Settings, embeddings: Embeddings
) -> None:
    async with open_graph(stored, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        await say(graph, "My dog is called Biscuit.", to="one")
        await say(graph, "I live in Oslo.", to="one")
        await graph.resources.background.settled()
        await say(graph, "What is my dog called?", to="two")
        await say(graph, "I live in Bergen.", to="one")
        await graph.resources.background.settled()
        user = graph.resources.of_user("ada")
        rows = await user.archive.messages("one")
        weights = await user.importance.of("one", [row.id for row in rows])
    by_text = {row.text: weights[row.id] for row in rows}
    assert by_text["My dog is called Biscuit."] == pytest.approx(0.55)
    assert by_text["I live in Oslo."] < 0.4
    assert by_text["I live in Bergen."] == pytest.approx(0.5)


async def test_a_range_of_messages_is_summarized_and_the_summary_is_not_kept(memory: ConversationMemory) -> None:
    await memory.aremember(
        [HumanMessage("I moved to Lisbon in May.", id="1"), AIMessage("A fine city.", id="2"),
         HumanMessage("My sister Clara lives in Porto.", id="3"), AIMessage("Near by.", id="4")],
        thread_id="t1",
    )  # fmt: skip
    made = await memory.asummarize("t1", "1", "3")
    assert made.source_ids == ("1", "2", "3")
    assert "Lisbon" in made.content
    assert await memory.asummaries("t1") == []
    for first, last in (("3", "1"), ("1", "9"), ("0", "2")):
        with pytest.raises(InputError, match="no messages from"):
            await memory.asummarize("t1", first, last)


async def test_an_agent_pins_lists_unpins_and_looks_by_tools(memory: ConversationMemory) -> None:
    await memory.aremember([HumanMessage("I moved to Lisbon in May.", id="1")], thread_id="t1")
    names = ("pin", "list_pins", "unpin", "show_context", "summarize_messages")
    tools = {tool.name: tool for tool in memory_tools(memory, thread_id="t1", names=names)}
    assert tuple(tools) == names
    assert set(tools["pin"].args) == {"text", "score"}
    assert "Pinned as" in await tools["pin"].ainvoke({"text": "Flight on May 3", "score": 0.9})
    (pin,) = await memory.apins()
    assert pin.id in await tools["list_pins"].ainvoke({})
    assert "Flight on May 3" in await tools["show_context"].ainvoke({"question": "When do I fly?"})
    assert "Lisbon" in await tools["summarize_messages"].ainvoke({"first_id": "1", "last_id": "1"})
    assert "no messages from" in await tools["summarize_messages"].ainvoke({"first_id": "7", "last_id": "1"})
    assert "Flight" in await tools["unpin"].ainvoke({"pin_id": pin.id})
    assert await tools["list_pins"].ainvoke({}) == "Nothing is pinned."
    with pytest.raises(InputError, match="no tool 'fly'"):
        memory_tools(memory, names=("fly",))


async def test_where_not_all_recent_messages_fit_hybrid_keeps_the_most_important(
    settings: Settings, embeddings: Embeddings
) -> None:
    """Seed 002, smart truncation: the newest three always, then by importance."""
    words = " and then some more was said about it at length" * 6
    async with open_memory(settings.but(profile="hybrid"), user_id="ada", embeddings=embeddings) as memory:
        await memory.aremember(
            [HumanMessage(f"What was the code of the error?{words}", id="1"), *(
                HumanMessage(f"Remark {n}{words}", id=str(n)) for n in range(2, 14)
            )],
            thread_id="t1",
        )  # fmt: skip
        built = await memory.abuild_context("Well?", thread_id="t1", budget=380)
    ids = [str(weighed.message.id) for weighed in built.recent]
    assert ids[-3:] == ["11", "12", "13"]
    assert "1" in ids
    assert len(ids) < 13


def test_what_was_not_entered_says_so() -> None:
    opened: Any
    for opened, words in ((open_graph, "async with open_graph"), (open_memory, "with open_memory")):
        with pytest.raises(AttributeError, match=words):
            _ = opened(Settings(database_url="sqlite")).recall
    assert not hasattr(open_graph(Settings(database_url="sqlite")), "invoke")


DOORS = [open_graph, open_memory, Everthread, build_graph]


def enter(door: Any, *given: Any, **named: Any) -> None:
    made = door(*given, **named)
    if hasattr(made, "__enter__"):
        with made:
            pass


@pytest.mark.parametrize("door", DOORS)
def test_an_embedding_model_by_name_works_or_is_refused_at_once(
    settings: Settings, door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name in (WORDS.model_name, "multilingual-e5-small"):
        enter(door, settings, embeddings=name)
    for name, why in {
        "fake:some-model": "Provider 'fake' is not supported",
        "openai:text-embedding-3-small": "OPENAI_API_KEY",
        "no.such.module:model": "No module named 'no'",
    }.items():
        with pytest.raises(SettingsError, match=why):
            enter(door, settings, embeddings=name)
    with pytest.raises(SettingsError, match="expected LangChain Embeddings"):
        door(settings, embeddings=42)


async def test_an_embedding_model_by_name_finds_what_is_meant(settings: Settings) -> None:
    async with open_memory(settings, embeddings=WORDS.model_name) as memory:
        assert memory.resources.embedder.name == WORDS.model_name
        await memory.aremember("My dog is called Biscuit.", thread_id="t1")
        await memory.asettled()
        assert (await memory.arecall("dog"))[0].similarity


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("name", "words"),
    [("checkpointer", r"build_graph\(...\).compile\(checkpointer=...\), or to create_agent\("),
     ("store", r"build_graph\(...\).compile\(store=...\)"), ("n_sum", r"is a setting.* Settings\(n_sum=...\)"),
     ("mdoel", "Did you mean 'model'")],
)  # fmt: skip
def test_what_no_door_can_take_is_explained(settings: Settings, door: Any, name: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        door(settings, **{name: None})


async def test_a_report_is_found_by_the_open_graph_or_by_an_open_memory(
    settings: Settings, embeddings: Embeddings, echo: EchoModel
) -> None:
    async with open_graph(settings, model=echo, embeddings=embeddings) as graph:
        await say(graph, "My dog is called Biscuit.")
        first = await find_report(graph, "ada", "t1")
        assert first == await find_report(graph.resources.database, "ada", "t1")
    async with open_memory(settings, user_id="ada", embeddings=embeddings) as memory:
        assert await memory.aexplain("t1") == await find_report(memory, "ada", "t1")


def test_the_package_says_its_version() -> None:
    assert re.fullmatch(r"\d+\.\d+.*", everthread.__version__)


async def test_all_that_is_awaited_can_be_called_in_blocking_code_with_the_same_arguments() -> None:
    for kind in (ConversationMemory, ThreadHistory):
        for name, awaited in inspect.getmembers(kind, inspect.iscoroutinefunction):
            if name.startswith("a") and not name.startswith("aget_") and name in dir(kind):
                blocking = getattr(kind, name.removeprefix("a"))
                assert inspect.signature(blocking) == inspect.signature(awaited), name


async def test_an_agent_with_a_structured_answer_keeps_it_and_remembers(middleware: Everthread) -> None:
    answer = calls(("Forecast", {"city": "Oslo", "rain": True}))
    model = scripted(answer)
    agent = agent_of(middleware, model, tools=[weather], response_format=ToolStrategy(Forecast))
    state = await ask(agent, "Will it rain in Oslo?")
    assert state["structured_response"] == Forecast(city="Oslo", rain=True)
    assert "Will it rain in Oslo?" in [row.text for row in await middleware.memory("ada").ahistory("t1")]


async def test_a_sub_agent_that_a_tool_asks_has_the_memory_of_the_same_user(
    middleware: Everthread, echo: EchoModel
) -> None:
    inner = create_agent(echo, [], middleware=[middleware], name="inner")

    @tool
    async def ask_helper(question: str) -> str:
        """Ask a helper."""
        given: Any = {"configurable": {"thread_id": "helper"}}
        state = await inner.ainvoke({"messages": [("user", question)]}, given, context={"user_id": "ada"})  # type: ignore[call-overload]
        return str(state["messages"][-1].text)

    await ask(agent_of(middleware, echo), "My dog is called Biscuit.", to="t0")
    await middleware.resources.background.settled()
    outer = agent_of(
        middleware, scripted(calls(("ask_helper", {"question": "Name of my dog?"})), "Biscuit."), tools=[ask_helper]
    )
    state = await ask(outer, "Ask the helper what my dog is called.")
    assert state["messages"][-1].text == "Biscuit."
    assert "Biscuit" in "".join(message.text for message in echo.prompts[-1])
    assert len(await middleware.memory("ada").ahistory("helper")) == 2
    assert len(await middleware.memory("ada").ahistory("t1")) == 4


class Unnamed(AgentState[Any]):
    """A state that gives messages no ids, as that of deepagents."""

    messages: Annotated[list[Any], operator.add]  # type: ignore[misc]  # another reducer


async def test_messages_to_which_a_state_gives_no_ids_are_kept_once(middleware: Everthread, echo: EchoModel) -> None:
    agent = agent_of(middleware, echo, state_schema=Unnamed)
    for text in ("My dog is called Biscuit.", "And my cat is called Mog."):
        await agent.ainvoke({"messages": [HumanMessage(text)]}, thread(), context={"user_id": "ada"})
    said = [row.text for row in await middleware.memory("ada").ahistory("t1")]
    assert said[::2] == ["My dog is called Biscuit.", "And my cat is called Mog."]
    assert len(said) == 4


@pytest.fixture(params=["postgres", "sqlite", "everthread"])
async def saver(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> AsyncIterator[Any]:
    """LangGraph's checkpointers that keep what they are given, and everthread's own."""
    assert settings.database_url is not None
    if request.param == "sqlite":
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "own.db")) as saver:
            yield saver
    elif request.param == "postgres":
        url, options = settings.database_url.get_secret_value(), f"-c search_path={settings.database_schema}"
        async with await AsyncConnection.connect(
            url, options=options, autocommit=True, row_factory=dict_row, prepare_threshold=0
        ) as connection:
            yield AsyncPostgresSaver(connection)
    else:
        storage = storage_of(settings)
        yield checkpointer_of(storage)
        await storage.close()


async def test_an_agent_that_waits_for_a_person_goes_on_in_another_process_from_any_checkpointer(
    settings: Settings, embeddings: Embeddings, saver: Any
) -> None:
    def process(*script: Any) -> tuple[Any, Everthread, Any]:
        middleware, model = Everthread(settings, embeddings=embeddings), scripted(*script)
        asks = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
        agent = create_agent(model, [weather], middleware=[middleware, asks], checkpointer=saver)
        return agent, middleware, model

    agent, middleware, _ = process("A fine name.", calls(("weather", {"city": "Oslo"})))
    await ask(agent, "My dog is called Biscuit.")
    assert (await ask(agent, "What is the weather in Oslo?"))["__interrupt__"]
    await middleware.aclose()

    agent, middleware, model = process("It rains.", "Biscuit.")
    decision: Any = Command(resume={"decisions": [{"type": "approve"}]})
    done = await agent.ainvoke(decision, thread(), context={"user_id": "ada"})
    assert [type(message) for message in model.prompts[0][-3:]] == [HumanMessage, AIMessage, ToolMessage]
    state = await ask(agent, "What is my dog called?")
    said = ["My dog is called Biscuit.", "A fine name.", "What is the weather in Oslo?", "", "Rain in Oslo.",
            "It rains.", "What is my dog called?", "Biscuit."]  # fmt: skip
    assert [message.text for message in state["messages"]] == said
    assert [message.text for message in done["messages"]] == said[:6]
    kept = await middleware.memory("ada").ahistory("t1")
    assert [row.id for row in kept] == [message.id for message in state["messages"]]
    assert sum("called Biscuit" in message.text for message in model.prompts[-1] if message.type == "human") == 1
    await middleware.aclose()
