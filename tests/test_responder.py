"""A responder of one's own in the place of the model: any Runnable, function or compiled agent."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Annotated, Any

import pytest
from conversation import EchoModel, say, thread
from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, SummarizationMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from scripted import calls, scripted
from typing_extensions import TypedDict

from everthread import ModelError, Settings, SettingsError, TurnReport, build_graph, open_graph


def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def approve(amount: int) -> str:
    """Asks a person."""
    return f"approved: {interrupt({'amount': amount})}"


def reads_a_state(state: dict[str, Any]) -> str:
    messages = state["messages"]
    return f"You said: {messages[-1].text}"


@pytest.mark.parametrize(
    "output",
    [
        "Hello!",
        AIMessage("Hello!"),
        AIMessageChunk("Hello!"),
        [AIMessage("Hello!", id="x")],
        {"messages": [AIMessage("Hello!")]},
        {"messages": [("assistant", "Hello!")]},
        {"output": "Hello!"},
        [HumanMessage("a note of its own"), {"role": "assistant", "content": "Hello!"}],
    ],
    ids=["text", "message", "chunk", "list", "mapping", "pairs", "output", "with another's message"],
)
async def test_a_function_may_return_a_text_a_message_a_list_or_a_mapping(
    reopen: Callable[..., open_graph], output: Any
) -> None:
    async with reopen(model=None, responder=RunnableLambda(lambda _: output)) as graph:
        state = await say(graph, "hi")
    assert [message.type for message in state["messages"]] == ["human", "ai"]
    assert state["messages"][-1].text == "Hello!"
    assert [m.text for m in await reopen().resources.of_user("ada").archive.messages("t1")] == ["hi", "Hello!"]


async def test_it_is_fed_with_the_assembled_messages(reopen: Callable[..., open_graph]) -> None:
    seen: list[list[BaseMessage]] = []

    async def answer(messages: list[BaseMessage]) -> str:
        seen.append(messages)
        return "Noted."

    async with reopen(model=None, responder=answer) as graph:
        await say(graph, "My dog is called Biscuit.", to="one")
        state = await say(graph, "What is my dog called?", to="two")
    assert [message.type for message in seen[1]] == ["system", "human"]
    assert "Biscuit" in seen[1][1].text
    assert state["reply"].model == "answer"


@pytest.mark.parametrize(
    "responder",
    [
        EchoModel(prompts=[]),
        ChatPromptTemplate([("placeholder", "{messages}")]) | EchoModel(prompts=[]),
        RunnableLambda(reads_a_state),
    ],
    ids=["model", "prompt and model", "reads a state"],
)
async def test_it_is_given_a_list_or_a_state_as_its_input_asks_for(
    reopen: Callable[..., open_graph], responder: Any
) -> None:
    async with reopen(model=None, responder=responder) as graph:
        assert (await say(graph, "hi"))["messages"][-1].text == "You said: hi"


async def test_what_an_agent_does_with_its_tools_enters_conversation_and_archive(
    reopen: Callable[..., open_graph],
) -> None:
    model = scripted(calls(("weather", {"city": "Oslo"})), "It rains.", "You are welcome.")
    async with reopen(model=None, responder=create_agent(model, [weather], system_prompt="Be brief.")) as graph:
        state = await say(graph, "Weather in Oslo?")
        assert [message.type for message in state["messages"]] == ["human", "ai", "tool", "ai"]
        await say(graph, "Thanks.")
    assert [message.type for message in model.prompts[-1]][-5:] == ["human", "ai", "tool", "ai", "human"]
    kept = await reopen().resources.of_user("ada").archive.messages("t1")
    assert [message.role for message in kept][:4] == ["user", "assistant", "tool", "assistant"]
    assert isinstance(kept[2].message, ToolMessage)


@pytest.mark.parametrize("subgraphs", [False, True])
async def test_an_agents_tokens_are_streamed_once_with_and_without_subgraphs(
    reopen: Callable[..., open_graph], subgraphs: bool
) -> None:
    model = scripted(calls(("weather", {"city": "Oslo"})), "It rains in Oslo.")
    async with reopen(model=None, responder=create_agent(model, [weather])) as graph:
        stream = graph.astream({"messages": [("user", "Oslo?")]}, thread(), stream_mode="messages", subgraphs=subgraphs)
        parts = [part[1][0] if subgraphs else part[0] async for part in stream]
        kept = (await graph.aget_state(thread())).values["messages"]
    texts = [part.text for part in parts if part.text]
    assert texts == ["rain in Oslo", "It ", "rains ", "in ", "Oslo."]
    assert list(dict.fromkeys(part.id for part in parts)) == [message.id for message in kept[1:]]


def test_an_agent_works_under_invoke_and_stream(reopen: Callable[..., open_graph]) -> None:
    model = scripted(calls(("weather", {"city": "Oslo"})), "It rains in Oslo.")
    with reopen(model=None, responder=create_agent(model, [weather])) as graph:
        parts = list(graph.stream({"messages": [("user", "Oslo?")]}, thread(), stream_mode="messages"))
        assert [part[0].text for part in parts if part[0].text][-1] == "Oslo."
        assert graph.invoke({"messages": [("user", "Again?")]}, thread())["messages"][-1].text == "It rains in Oslo."


async def test_a_person_in_the_loop_of_an_agent_is_asked_through_us(reopen: Callable[..., open_graph]) -> None:
    agent = create_agent(scripted(calls(("approve", {"amount": 5})), "Paid."), [approve])
    async with reopen(model=None, responder=agent) as graph:
        state = await say(graph, "Pay.")
        assert [stop.value for stop in state["__interrupt__"]] == [{"amount": 5}]
        state = await graph.ainvoke(Command(resume="yes"), thread(), context={"user_id": "ada"})
    assert [message.text for message in state["messages"]][-2:] == ["approved: yes", "Paid."]


async def test_the_agents_own_checkpointer_does_not_stand_in_the_way(reopen: Callable[..., open_graph]) -> None:
    agent = create_agent(scripted("One.", "Two."), [weather], checkpointer=InMemorySaver())
    async with reopen(model=None, responder=agent) as graph:
        await say(graph, "first")
        state = await say(graph, "second")
    assert [message.text for message in state["messages"]] == ["first", "One.", "second", "Two."]


@pytest.mark.parametrize(
    ("responder", "said"),
    [
        (lambda _: 42, r"it returned a int, expected a text"),
        (lambda _: {"answer": "x"}, r"it returned a mapping of 'answer', expected .* with 'messages' or 'output'"),
        (lambda _: [], r"it returned a list"),
        (lambda _: "   ", r"the reply was empty"),
        (lambda _: [HumanMessage("me?")], r"it returned no message of the assistant"),
        (lambda _: 1 / 0, r"division by zero\. What you said is kept"),
    ],
)
async def test_what_cannot_be_used_is_one_sentence_and_the_question_is_kept(
    reopen: Callable[..., open_graph], responder: Any, said: str
) -> None:
    async with reopen(model=None, responder=responder) as graph:
        with pytest.raises(ModelError, match=said):
            await say(graph, "hi")
        assert (await graph.aget_state(thread())).values["messages"][-1].text == "hi"


class Dish(BaseModel):
    """A structured answer."""

    name: str


async def test_a_structured_answer_enters_the_conversation_as_json(reopen: Callable[..., open_graph]) -> None:
    agent = create_agent(scripted(calls(("Dish", {"name": "crème brûlée"}))), [], response_format=Dish)
    for number, responder in enumerate([agent, RunnableLambda(lambda _: Dish(name="crème brûlée"))]):
        async with reopen(model=None, responder=responder) as graph:
            state = await say(graph, "Which dish?", to=f"t{number}")
        assert isinstance(state["messages"][-1], AIMessage)
        assert Dish.model_validate_json(state["messages"][-1].text) == Dish(name="crème brûlée")
        assert "crème brûlée" in state["messages"][-1].text


async def test_a_structured_answer_stands_in_the_state_until_the_next_turn(reopen: Callable[..., open_graph]) -> None:
    dish = calls(("Dish", {"name": "crème brûlée"}))
    agent = create_agent(scripted(dish, "No shape."), [], response_format=ToolStrategy(Dish))
    async with reopen(model=None, responder=agent) as graph:
        given = {"messages": [("user", "Which dish?")]}
        output = await graph.ainvoke(given, thread(), context={"user_id": "ada"})
        assert output.keys() == {"messages", "structured_response"}
        assert output["structured_response"] == Dish(name="crème brûlée")
    # A checkpoint holds it as plain data.
    async with reopen(model=None, responder=lambda _: "A text.") as graph:
        kept = (await graph.aget_state(thread())).values["structured_response"]
        assert Dish.model_validate(kept) == Dish(name="crème brûlée")
        output = await graph.ainvoke({"messages": [("user", "And why?")]}, thread(), context={"user_id": "ada"})
        assert output["messages"][-1].text == "A text."
        assert output.get("structured_response") is None


class Shop(TypedDict):
    """A context of another application, as a mapping."""

    tenant: str


@dataclass
class Store:
    """The same as an object, which holds our settings."""

    tenant: str
    everthread: dict[str, Any] = field(default_factory=dict)


def tenant(runtime: ToolRuntime[Any, Any]) -> str:
    """Whose shop it is."""
    context = runtime.context
    names = list(context) if isinstance(context, dict) else [type(context).__name__]
    return f"{context['tenant'] if isinstance(context, dict) else context.tenant} in {', '.join(names)}"


@pytest.mark.parametrize(
    ("shape", "context", "told"),
    [
        (Shop, {"everthread": {"user_id": "ada"}, "tenant": "x"}, "x in tenant"),
        (Shop, {"user_id": "ada", "everthread": {"max_memories": 1}, "tenant": "x"}, "x in user_id, tenant"),
        (Store, {"everthread": {"user_id": "ada"}, "tenant": "x"}, "x in Store"),
        (Store, Store("x", {"user_id": "ada"}), "x in Store"),
    ],
    ids=["mapping", "mapping with a user", "mapping for an object", "object"],
)
async def test_a_responder_is_given_its_own_context_and_our_settings_are_found_beside_it(
    reopen: Callable[..., open_graph], shape: Any, context: Any, told: str
) -> None:
    model = scripted(calls(("tenant", {})), "Thine.")
    agent = create_agent(model, [tenant], context_schema=shape)
    async with reopen(model=None, responder=agent) as graph:
        output = await graph.ainvoke({"messages": [("user", "Whose?")]}, thread(), context=context)
    assert [message.text for message in output["messages"]][-2:] == [told, "Thine."]
    assert len(await reopen().resources.of_user("ada").archive.messages("t1")) == 4


async def test_without_a_context_of_its_own_a_responder_is_given_the_settings_of_the_run(
    reopen: Callable[..., open_graph],
) -> None:
    seen: list[Any] = []

    def look(runtime: ToolRuntime[Any, Any]) -> str:
        """Look."""
        seen.append(runtime.context)
        return "seen"

    agent = create_agent(scripted(calls(("look", {})), "Fine."), [look])
    async with reopen(model=None, responder=agent) as graph:
        await say(graph, "Look.")
    assert [(type(context), context.user_id) for context in seen] == [(Settings, "ada")]


class Notebook(AgentState[Any]):
    """An agent's state with notes, which add up."""

    notes: Annotated[list[str], operator.add]


def note(text: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
    """Write a note."""
    known = len(runtime.state.get("notes") or [])
    done = ToolMessage(f"noted beside {known}", tool_call_id=runtime.tool_call_id)
    return Command(update={"notes": [text], "messages": [done]})


async def test_what_an_agent_keeps_beside_its_messages_lasts_from_turn_to_turn_of_its_thread(
    reopen: Callable[..., open_graph],
) -> None:
    for turn, text in enumerate(["one", "two", "three"]):  # each in a process of its own
        agent = create_agent(scripted(calls(("note", {"text": text})), "Noted."), [note], state_schema=Notebook)
        async with reopen(model=None, responder=agent) as graph:
            state = await say(graph, f"Note {text}.")
            assert state["messages"][-2].text == f"noted beside {turn}"
            kept = (await graph.aget_state(thread())).values["responder_state"]
    assert kept == {"notes": ["one", "two", "three"]}
    agent = create_agent(scripted(calls(("note", {"text": "other"})), "Noted."), [note], state_schema=Notebook)
    async with reopen(model=None, responder=agent) as graph:
        state = await say(graph, "Note other.", to="t2")
        assert state["messages"][-2].text == "noted beside 0"
        assert (await graph.aget_state(thread())).values["responder_state"] == kept


async def test_what_an_agent_no_longer_keeps_is_gone_in_the_next_turn(reopen: Callable[..., open_graph]) -> None:
    class Slip(TypedDict, total=False):
        messages: Annotated[list[Any], add_messages]
        note: str | None

    def answer(state: Slip) -> dict[str, Any]:
        text = state["messages"][-1].text
        told = AIMessage(f"had {state.get('note')}")
        return {"messages": [told], **({"note": text or None} if text != "keep" else {})}

    def empty(state: Slip) -> dict[str, Any]:
        return {"messages": [AIMessage(f"had {state.get('note')}")], "note": None}

    def graph_of(node: Any) -> Any:
        return StateGraph(Slip).add_node("n", node).add_edge(START, "n").compile()

    said = []
    for node, text in [(answer, "tea"), (answer, "keep"), (empty, "forget"), (answer, "keep")]:
        async with reopen(model=None, responder=graph_of(node)) as graph:
            said.append((await say(graph, text))["messages"][-1].text)
    assert said == ["had None", "had tea", "had tea", "had None"]


async def test_what_no_checkpoint_can_hold_does_not_fail_the_turn(
    reopen: Callable[..., open_graph], caplog: pytest.LogCaptureFixture
) -> None:
    class Desk(TypedDict, total=False):
        messages: Annotated[list[Any], add_messages]
        lock: Any
        note: str
        structured_response: Any

    def answer(state: Desk) -> dict[str, Any]:
        told = AIMessage(f"had {state.get('note')}, {state.get('lock')}")
        return {"messages": [told], "lock": Lock(), "note": "tea", "structured_response": {"lock": Lock()}}

    desk = StateGraph(Desk).add_node("n", answer).add_edge(START, "n").compile(checkpointer=False)
    async with reopen(model=None, responder=desk) as graph:
        await say(graph, "One.")
        state = await say(graph, "Two.")
        kept = (await graph.aget_state(thread())).values
    assert state["messages"][-1].text == "had tea, None"
    assert kept["responder_state"] == {"note": "tea"}
    assert "lock" in kept["structured_response"]["lock"]
    assert "keeps what no checkpoint can hold: lock." in caplog.text


async def test_one_that_is_cancelled_by_itself_has_failed(reopen: Callable[..., open_graph]) -> None:
    async def cancels(_: Any) -> str:
        raise asyncio.CancelledError

    async with reopen(model=None, responder=cancels) as graph:
        with pytest.raises(ModelError, match=r"'cancels' failed: it ended with CancelledError"):
            await say(graph, "hi")


async def test_one_that_never_stops_calling_our_tools_is_stopped(reopen: Callable[..., open_graph]) -> None:
    asked: list[int] = []

    def caller(_: Any) -> AIMessage:
        asked.append(1)
        return calls(("weather", {"city": "Oslo"}), ids=[f"c{len(asked)}"])

    async with reopen(model=None, responder=caller, tools=[weather], max_tool_rounds=2) as graph:
        with pytest.raises(ModelError, match="goes on calling tools after 2 rounds"):
            await say(graph, "Weather?")
    assert len(asked) == 4


async def test_only_the_agents_own_words_are_streamed_not_its_housekeeping(reopen: Callable[..., open_graph]) -> None:
    shortens = SummarizationMiddleware(model=scripted("SUMMARY"), trigger=("messages", 2), keep=("messages", 1))
    async with reopen(model=None, responder=create_agent(scripted("Fine."), [], middleware=[shortens])) as graph:
        stream = graph.astream({"messages": [("user", "hi")]}, thread(), stream_mode="messages")
        parts = [part[0] async for part in stream]
    assert {part.type for part in parts} == {"AIMessageChunk"}
    assert "".join(part.text for part in parts) == "Fine."


async def test_every_request_of_an_agent_is_in_the_report_with_its_tokens(reopen: Callable[..., open_graph]) -> None:
    def used(message: AIMessage, tokens: int) -> AIMessage:
        usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
        return message.model_copy(update={"usage_metadata": usage})

    model = scripted(used(calls(("weather", {"city": "Oslo"})), 7), used(AIMessage("It rains."), 9), name="inner")
    async with reopen(model=None, responder=create_agent(model, [weather])) as graph:
        state = await say(graph, "Weather?")
    report = TurnReport.model_validate(state["report"]).reply
    assert report is not None
    assert [(call.model, call.input_tokens, call.finish) for call in report.calls] == [
        ("inner", 7, "tool_calls"),
        ("inner", 9, None),
    ]
    assert report.tool_rounds == 1


async def test_one_that_takes_too_long_is_given_up(reopen: Callable[..., open_graph]) -> None:
    async def sleeper(_: Any) -> str:
        await asyncio.sleep(30)
        return "late"

    async with reopen(model=None, responder=sleeper, timeouts={"reply": 0.2}) as graph:
        with pytest.raises(ModelError, match=r"The responder 'sleeper' failed: no reply in 0\.2 s"):
            await say(graph, "hi")


async def test_a_prompt_that_is_too_long_for_it_is_made_smaller_once(reopen: Callable[..., open_graph]) -> None:
    sizes: list[int] = []

    def picky(messages: list[BaseMessage]) -> str:
        sizes.append(sum(len(message.text) for message in messages))
        if sizes[-1] > 3000:
            raise ValueError("prompt is too long: 2000 tokens > 1000 maximum")
        return "Fine."

    async with reopen(model=None, responder=picky, n_sum=40) as graph:
        for n in range(5):
            state = await say(graph, f"Remark {n}: " + "we talked about the garden. " * 30)
    assert state["messages"][-1].text == "Fine."
    assert [call.failure for call in state["reply"].calls] == ["context"]
    assert sizes[-1] < 3000 < sizes[-2]


def test_what_is_no_responder_gets_one_sentence() -> None:
    with pytest.raises(SettingsError, match="A int is no responder"):
        build_graph(responder=42)  # type: ignore[arg-type]
