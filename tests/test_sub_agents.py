"""Agents that a tool asks, as LangChain's own docs have it: what they are told is not the conversation."""

from __future__ import annotations

import asyncio
import operator
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from conversation import EchoModel, thread
from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, SummarizationMiddleware
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolRuntime
from scripted import ScriptedModel, calls, scripted

from everthread import Everthread, InputError, MemoryStore, Settings, SettingsError, open_graph, open_memory

TASK = "I live in Rome. What is my dog called?"


@pytest.fixture
async def middleware(settings: Settings, embeddings: Embeddings) -> AsyncIterator[Everthread]:
    middleware = Everthread(settings, embeddings=embeddings)
    yield middleware
    await middleware.aclose()


def helper_of(inner: Any) -> Any:
    @tool
    def ask_helper(task: str) -> str:
        """Ask a helper."""
        return str(inner.invoke({"messages": [("user", task)]})["messages"][-1].text)

    return ask_helper


def supervisor(middleware: Everthread, helper: Any) -> Any:
    model = scripted(calls(("ask_helper", {"task": TASK})), "Biscuit is a dog.", "Yes.")
    return create_agent(model, [helper], middleware=[middleware])


@pytest.mark.parametrize("is_async", [True, False])
async def test_what_a_sub_agent_is_told_is_not_the_conversation_and_it_knows_the_user(
    middleware: Everthread, is_async: bool
) -> None:
    memory, inner = middleware.memory("ada"), scripted("The dog is called Biscuit.")
    await memory.aremember([("user", "My dog is called Biscuit."), ("assistant", "A fine name.")], thread_id="t0")
    await memory.asettled()
    agent = supervisor(middleware, helper_of(create_agent(inner, [], middleware=[middleware])))
    said: Any = {"messages": [("user", "Who is Biscuit?")]}, thread()
    if is_async:
        state = await agent.ainvoke(*said, context={"user_id": "ada"})
    else:
        state = await asyncio.to_thread(agent.invoke, *said, context={"user_id": "ada"})
    await memory.asettled()

    assert [row.id for row in await memory.ahistory("t1")] == [message.id for message in state["messages"]]
    assert [row["thread_id"] for row in await memory.athreads()] == ["t1", "t0"]
    assert all("Rome" not in fact.text for fact in await memory.afacts())
    assert "My dog is called Biscuit." in inner.prompts[0][-1].text
    assert "Who is Biscuit?" not in "".join(message.text for message in inner.prompts[0])


async def test_nor_is_it_where_the_run_has_no_thread(middleware: Everthread) -> None:
    inner = create_agent(scripted("The dog is called Biscuit."), [], middleware=[middleware])
    agent = supervisor(middleware, helper_of(inner))
    await agent.ainvoke({"messages": [("user", "Who is Biscuit?")]}, context={"user_id": "ada"})
    (row,) = [row for row in await middleware.memory("ada").athreads() if row["thread_id"] != "t1"]
    assert row["messages"] == 4


async def test_nor_is_it_in_a_tool_of_the_graph(
    settings: Settings, embeddings: Embeddings, middleware: Everthread
) -> None:
    inner = create_agent(scripted("The dog is called Biscuit."), [], middleware=[middleware])
    model = scripted(calls(("ask_helper", {"task": TASK})), "Biscuit is a dog.")
    async with open_graph(settings, model=model, tools=[helper_of(inner)], embeddings=embeddings) as graph:
        await graph.ainvoke({"messages": [("user", "Who is Biscuit?")]}, thread(), context={"user_id": "ada"})
        said = await graph.ahistory("ada", "t1")
        rows = [row.text for row in said]
    assert rows == ["Who is Biscuit?", "[calls ask_helper]", "The dog is called Biscuit.", "Biscuit is a dog."]


async def test_the_graph_is_asked_by_a_tool_in_a_thread_of_its_own_alone(
    settings: Settings, embeddings: Embeddings, middleware: Everthread, echo: EchoModel
) -> None:
    async with open_graph(settings, model=echo, embeddings=embeddings) as graph:
        where: Any = None

        @tool
        async def ask_helper(task: str) -> str:
            """Ask a helper."""
            return str((await graph.ainvoke({"messages": [("user", task)]}, where))["messages"][-1].text)

        question: Any = {"messages": [("user", "Who is Biscuit?")]}, thread()
        with pytest.raises(InputError, match="give the graph a thread of its own"):
            await supervisor(middleware, ask_helper).ainvoke(*question, context={"user_id": "ada"})
        where = thread("helper")
        await supervisor(middleware, ask_helper).ainvoke(*question, context={"user_id": "ada"})
        said = [row.text for row in await graph.ahistory("ada", "t1")]
    assert said == ["Who is Biscuit?", "[calls ask_helper]", f"You said: {TASK}", "Biscuit is a dog."]


async def test_an_agent_that_is_a_node_of_a_graph_is_the_conversation(middleware: Everthread, echo: EchoModel) -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    agent: Any = create_agent(echo, [], middleware=[middleware])
    graph = StateGraph(MessagesState).add_node("chat", agent).add_edge(START, "chat").compile(InMemorySaver())
    for text in ("My dog is called Biscuit.", "And my cat is called Mog."):
        config: Any = {"configurable": {"thread_id": "t1", "user_id": "ada"}}
        await graph.ainvoke({"messages": [HumanMessage(text)]}, config)
    said = [row.text for row in await middleware.memory("ada").ahistory("t1")]
    assert said[::2] == ["My dog is called Biscuit.", "And my cat is called Mog."]


class Unnamed(AgentState[Any]):
    """A state that gives messages no ids, as that of deepagents."""

    messages: Annotated[list[Any], operator.add]  # type: ignore[misc]  # another reducer


async def test_the_same_words_said_again_are_answered_anew_where_nothing_keeps_the_state(
    middleware: Everthread,
) -> None:
    model: ScriptedModel = scripted("Which one?", "That one?", "Done.")
    agent: Any = create_agent(model, [], middleware=[middleware], state_schema=Unnamed)
    for answer in ("Which one?", "That one?", "Done."):
        state = await agent.ainvoke({"messages": [HumanMessage("Yes.")]}, thread(), context={"user_id": "ada"})
        assert state["messages"][-1].text == answer
    said = [row.text for row in await middleware.memory("ada").ahistory("t1")]
    assert said == ["Yes.", "Which one?", "Yes.", "That one?", "Yes.", "Done."]
    assert [message.text for message in model.prompts[-1]] == said[:-1]


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_run_that_names_no_user_is_refused_where_one_must_be_named(
    settings: Settings, embeddings: Embeddings, is_async: bool
) -> None:
    middleware = Everthread(settings.but(require_user=True), embeddings=embeddings)
    model = scripted(calls(("keep", {})), "Hello.")

    @tool
    def keep(runtime: ToolRuntime) -> str:
        """Keep something."""
        assert runtime.store is not None
        runtime.store.put(("notes",), "k", {"text": "kept"})
        return "Kept."

    def agent_of(*given: Any) -> Any:
        store = MemoryStore(middleware.memory("nobody"), user_of_run=True)
        return create_agent(model, [keep], middleware=list(given), store=store)

    async def ask(agent: Any, **context: Any) -> Any:
        said: Any = {"messages": [("user", "Hello?")]}, thread()
        return await agent.ainvoke(*said, **context) if is_async else await asyncio.to_thread(
            agent.invoke, *said, **context
        )  # fmt: skip

    for agent in (agent_of(middleware), agent_of()):  # the store refuses, too
        with pytest.raises(SettingsError, match="The run names no user"):
            await ask(agent)
    assert await middleware.memory("default").athreads() == []
    assert await MemoryStore(middleware.memory("default")).asearch(()) == []
    model.script[:] = [calls(("keep", {})), "Hello."]
    await ask(agent_of(middleware), context={"user_id": "ada"})
    assert len(await MemoryStore(middleware.memory("ada")).asearch(())) == 1
    await middleware.aclose()


async def test_a_summary_of_langchains_middleware_is_nobodys_words(middleware: Everthread) -> None:
    """As where an agent had LangChain's middleware before, or has both."""
    peer = SummarizationMiddleware(scripted("The user lives in Rome."), trigger=("messages", 2), keep=("messages", 1))
    model = scripted("Ok.")
    agent: Any = create_agent(model, [], middleware=[middleware, peer], checkpointer=InMemorySaver())
    for text in ("I am Ada.", "Hello.", "Good."):
        await agent.ainvoke({"messages": [("user", text)]}, thread(), context={"user_id": "ada"})
    await middleware.memory("ada").asettled()
    said = await middleware.memory("ada").ahistory("t1")
    assert [row.text for row in said if row.role == "user"] == ["I am Ada.", "Hello.", "Good."]
    assert any("lives in Rome" in row.text for row in said)
    assert all("Rome" not in fact.text for fact in await middleware.memory("ada").afacts())
    assert "lives in Rome" in "".join(message.text for message in model.prompts[-1])


_SCRIPT = """
import atexit, sys, time
from langchain.agents import create_agent
from everthread import Everthread, Settings
from fakes.embeddings import WORDS
from scripted import scripted

agent = create_agent(scripted("Hello."), [], middleware=[Everthread(Settings(database_url=sys.argv[1]))])
agent.invoke({"messages": [("user", "My dog is called Biscuit.")]}, {"configurable": {"thread_id": "t1"}})
atexit.register(time.sleep, 1)  # while no thread can be had any more, and the work beside goes on
"""


async def test_a_script_that_ends_without_closing_says_nothing_and_loses_nothing(
    environment: dict[str, str], settings: Settings, tmp_path: Any, embeddings: Embeddings
) -> None:
    url = f"sqlite:///{tmp_path}/memory.db"
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, url], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    async with open_memory(settings.but(database_url=url, database_schema="public"), embeddings=embeddings) as memory:
        await memory.asettled()
        assert "Biscuit" in (await memory.arecall("dog"))[0].fragments[0].content
