"""The graph as a part of one's own: a node of a parent with any state and any context, with keys of one's own."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from conversation import EVERYTHING, EchoModel, counting_model, say, thread
from langchain_core.embeddings import Embeddings
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from scripted import calls, scripted
from typing_extensions import TypedDict
from variants import each

from everthread import Settings, SettingsError, StorageError, build_graph, open_graph
from everthread.graph.build import ConversationGraph
from everthread.graph.conversation import Conversation
from everthread.runtime.resources import Resources
from everthread.storage.open import storage_of


class Richer(MessagesState):
    """A state with more than messages."""

    visits: Annotated[int, operator.add]


class ByType(TypedDict):
    """A context as a TypedDict."""

    tenant: str
    everthread: dict[str, Any]


@dataclass
class ByClass:
    """A context as a dataclass."""

    tenant: str
    user_id: str


@pytest.fixture
async def resources(settings: Settings, embeddings: Embeddings) -> AsyncIterator[Resources]:
    made = Resources(settings, model=counting_model(), embeddings=embeddings)
    await made.open()
    yield made
    await made.close()


def parent_of(part: Any, state: Any = MessagesState, **options: Any) -> Any:
    """A parent graph with this one node, on a saver of its own."""
    graph = StateGraph(state, **options).add_node("chat", part).add_edge(START, "chat")
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("state", each([MessagesState, Richer], quick=1))
async def test_the_parents_messages_are_the_conversation_however_long(resources: Resources, state: Any) -> None:
    parent = parent_of(ConversationGraph(resources).compile(), state)
    context = {"user_id": "ada"}
    for n in range(1, 25):
        given = {"messages": [("user", f"Remark {n} about the garden.")], **({"visits": 1} if state is Richer else {})}
        out = await parent.ainvoke(given, thread("p1"), context=context)
        assert [m.text for m in out["messages"]][-2:] == [f"Remark {n} about the garden.", f"Reply {n}."]
    texts = [text for n in range(1, 25) for text in (f"Remark {n} about the garden.", f"Reply {n}.")]
    assert [message.text for message in out["messages"]] == texts
    assert [message.text for message in await resources.of_user("ada").archive.messages("p1")] == texts
    summaries = await resources.of_user("ada").archive.summaries("p1")
    assert len({summary.source_ids for summary in summaries}) == len(summaries)


@pytest.mark.slow
async def test_24_turns_cost_as_many_summaries_as_in_a_graph_of_their_own(
    resources: Resources, settings: Settings, embeddings: Embeddings
) -> None:
    parent = parent_of(ConversationGraph(resources).compile())
    async with open_graph(settings, model=counting_model(), embeddings=embeddings) as graph:
        for n in range(24):
            await parent.ainvoke({"messages": [("user", f"Remark {n}.")]}, thread("p1"), context={"user_id": "ada"})
            await say(graph, f"Remark {n}.", to="own")
        inside = await graph.resources.of_user("ada").archive.summaries("p1")
        alone = await graph.resources.of_user("ada").archive.summaries("own")
    assert len(inside) == len(alone)
    assert sorted(summary.level for summary in inside) == sorted(summary.level for summary in alone)


@pytest.mark.parametrize(
    ("context_schema", "context", "user"),
    [
        (None, None, "default"), (None, {"user_id": "ada"}, "ada"),
        (ByType, {"tenant": "x", "everthread": {"user_id": "bea"}}, "bea"), (ByClass, ByClass("x", "cid"), "cid"),
        (ByClass, {"tenant": "x", "user_id": "dan"}, "dan"), (Settings, {"user_id": "eve"}, "eve"),
    ],
)  # fmt: skip
async def test_a_parent_may_have_any_context(
    resources: Resources, context_schema: Any, context: Any, user: str
) -> None:
    parent = parent_of(
        ConversationGraph(resources).compile(), **({"context_schema": context_schema} if context_schema else {})
    )
    out = await parent.ainvoke({"messages": [("user", "hi")]}, thread("p1"), context=context)
    assert out["messages"][-1].text == "Reply 1."
    assert [message.text for message in await resources.of_user(user).archive.messages("p1")] == ["hi", "Reply 1."]


@pytest.mark.parametrize("configurable", [{"user_id": "ada"}, {"everthread": {"user_id": "ada", "web_search": "off"}}])
async def test_settings_come_from_configurable_as_well(resources: Resources, configurable: Any) -> None:
    graph = ConversationGraph(resources).compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"messages": [("user", "hi")]}, {"configurable": {"thread_id": "c1", **configurable}})
    assert len(await resources.of_user("ada").archive.messages("c1")) == 2


async def test_a_run_that_names_no_user_is_refused_where_the_operator_wants_it(
    settings: Settings, echo: EchoModel, embeddings: Embeddings
) -> None:
    graph = build_graph(settings.but(require_user=True), model=echo, embeddings=embeddings)
    compiled = graph.compile(checkpointer=InMemorySaver())
    given: Any = {"messages": [("user", "hi")]}
    for nobody in (None, {"web_search": "off"}):
        with pytest.raises(SettingsError, match="names no user"):
            await compiled.ainvoke(given, thread(), context=nobody)
    assert (await compiled.aget_state(thread())).values == {}
    await compiled.ainvoke(given, thread(), context={"user_id": "ada"})
    await compiled.ainvoke(given, {"configurable": {"thread_id": "t2", "user_id": "bob"}})
    assert len(echo.prompts) == 2


async def test_what_is_wrong_under_our_key_is_said(resources: Resources) -> None:
    graph = ConversationGraph(resources).compile(checkpointer=InMemorySaver())
    for wrong, match in (({"usr_id": "x"}, "Did you mean 'user_id'"), ("ada", "expected a mapping of settings")):
        with pytest.raises(SettingsError, match=match):
            await graph.ainvoke(
                {"messages": [("user", "hi")]}, {"configurable": {"thread_id": "c", "everthread": wrong}}
            )


async def test_two_of_ours_in_one_parent_share_the_conversation(resources: Resources) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("first", ConversationGraph(resources).compile())
    graph.add_node("second", ConversationGraph(resources).compile())
    graph.add_node("ask", lambda _: {"messages": [("user", "And you?")]})
    graph.add_edge(START, "first").add_edge("first", "ask").add_edge("ask", "second")
    parent = graph.compile(checkpointer=InMemorySaver())
    out = await parent.ainvoke({"messages": [("user", "hi")]}, thread("p1"), context={"user_id": "ada"})
    assert [message.text for message in out["messages"]] == ["hi", "Reply 1.", "And you?", "Reply 2."]
    assert [message.text for message in await resources.of_user("ada").archive.messages("p1")] == [
        "hi", "Reply 1.", "And you?", "Reply 2.",
    ]  # fmt: skip


def test_sync_code_may_embed_it(settings: Settings, embeddings: Embeddings) -> None:
    with open_graph(settings, model=counting_model(), embeddings=embeddings) as opened:
        parent = parent_of(ConversationGraph(opened.resources).compile())
        for n in (1, 2):
            out = parent.invoke({"messages": [("user", "hi")]}, thread("p1"), context={"user_id": "ada"})
            assert out["messages"][-1].text == f"Reply {n}."


async def test_an_interrupt_in_a_tool_goes_through_the_parent(settings: Settings, embeddings: Embeddings) -> None:
    @tool
    def ask_person(question: str) -> str:
        """Ask a person."""
        return str(interrupt(question))

    model = scripted(calls(("ask_person", {"question": "May I?"})), "Thank you.")
    shared = Resources(settings, model=model, embeddings=embeddings, tools=[ask_person])
    await shared.open()
    parent = parent_of(ConversationGraph(shared).compile())
    out = await parent.ainvoke({"messages": [("user", "Do it.")]}, thread("p1"), context={"user_id": "ada"})
    assert out["__interrupt__"][0].value == "May I?"
    out = await parent.ainvoke(Command(resume="yes"), thread("p1"), context={"user_id": "ada"})
    assert [message.type for message in out["messages"]] == ["human", "ai", "tool", "ai"]
    assert out["messages"][2].text == "yes"
    assert len(await shared.of_user("ada").archive.messages("p1")) == 4
    await shared.close()


class Shop(TypedDict, total=False):
    """Keys of one's own."""

    basket: Annotated[list[str], operator.add]
    note: str


async def test_own_keys_and_reducers_are_part_of_the_state(settings: Settings, embeddings: Embeddings) -> None:
    @tool
    def buy(item: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Buy something."""
        return Command(update={"basket": [item], "messages": [ToolMessage("bought", tool_call_id=tool_call_id)]})

    model = scripted(calls(("buy", {"item": "apples"})), "Done.")
    shared = Resources(settings, model=model, embeddings=embeddings, tools=[buy], state_schema=Shop)
    await shared.open()
    graph = ConversationGraph(shared).compile(checkpointer=InMemorySaver())
    given: Any = {"messages": [("user", "Buy apples.")], "basket": ["pears"], "note": "today"}
    out = await graph.ainvoke(given, thread("s1"), context={"user_id": "ada"})
    assert out["basket"] == ["pears", "apples"]
    assert out["note"] == "today"
    assert (await graph.aget_state(thread("s1"))).values["basket"] == ["pears", "apples"]
    await shared.close()
    with pytest.raises(SettingsError, match="'chain'"):
        build_graph(settings, state_schema=TypedDict("Wrong", {"chain": str}))  # type: ignore[operator]


async def test_any_saver_keeps_the_state_and_strict_mode_passes(
    settings: Settings, echo: EchoModel, embeddings: Embeddings, caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    """No record of ours is in a checkpoint: LangGraph warns of types that it does not know, and will refuse them."""
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    saver = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[]))
    graph = build_graph(settings, model=echo, embeddings=embeddings).compile(checkpointer=saver)
    for text in ("one", "two", "three", "/summary_status", "four"):
        await say(graph, text)
    values = (await graph.aget_state(thread())).values
    assert len(values["messages"]) == 10
    assert values["chain"]["links"]
    assert values["report"]["turn"] == 5
    assert "Deserializing unregistered type" not in caplog.text


async def test_the_output_is_the_conversation_and_the_report_where_asked_for(resources: Resources) -> None:
    graph = ConversationGraph(resources).compile(checkpointer=InMemorySaver())
    given: Any = {"messages": [("user", "hi")]}
    assert list(await graph.ainvoke(given, thread())) == ["messages"]
    both = await graph.ainvoke(given, thread(), output_keys=["messages", "report"])
    assert both["report"]["turn"] == 2
    size = 0
    async for part in graph.astream(given, thread(), stream_mode="values", output_keys=graph.output_channels):
        assert list(part) == ["messages"]
        size += len(str(part))
    assert size < 10_000
    assert set(EVERYTHING) > set((await graph.aget_state(thread())).values)


async def test_a_run_without_a_thread_is_a_thread_of_its_own(resources: Resources) -> None:
    graph = ConversationGraph(resources).compile()
    for text in ("My dog is called Biscuit.", "hi"):
        await graph.ainvoke({"messages": [("user", text)]}, context={"user_id": "ada"})
    assert [row["messages"] for row in await resources.of_user("ada").archive.threads()] == [2, 2]


async def test_a_parent_without_a_database_says_so(embeddings: Embeddings) -> None:
    unreachable = Settings(database_url="postgresql://nobody@127.0.0.1:1/none", web_search="off")
    parent = parent_of(build_graph(unreachable, model=counting_model(), embeddings=embeddings).compile())
    with pytest.raises(StorageError, match="cannot be reached"):
        await parent.ainvoke({"messages": [("user", "hi")]}, thread("p1"))
    await storage_of(unreachable).close()


def test_a_compiled_graph_is_a_conversation() -> None:
    assert isinstance(build_graph().compile(), Conversation)
    assert isinstance(build_graph().compile().copy(), Conversation)
