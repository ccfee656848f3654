"""Tools: called, bounded, told of errors, archived with the turn, interrupted and resumed."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from conversation import EchoModel, say, thread
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.types import Command, interrupt
from scripted import calls, scripted

from everthread import ModelError, Settings, SettingsError, build_graph, open_graph

ran: list[str] = []


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    ran.append(city)
    return f"rain in {city}"


@tool
async def slow(seconds: float) -> str:
    """Waits."""
    await asyncio.sleep(seconds)
    return "done"


@tool
def hangs() -> str:
    """Blocks its thread."""
    threading.Event().wait(3)
    return "late"


@tool
def breaks() -> str:
    """Fails."""
    raise KeyError("no such row")


@tool
def leaves() -> str:
    """Ends the process."""
    sys.exit(3)


@tool
async def is_cancelled() -> str:
    """Raises what a client's cancelled scope does."""
    raise asyncio.CancelledError


@tool
def approve(amount: int) -> str:
    """Asks a person."""
    answer = interrupt({"amount": amount})
    return f"approved: {answer}"


TOOLS: list[Any] = [weather, slow, hangs, breaks, leaves, is_cancelled, approve]


@pytest.fixture(autouse=True)
def nothing_ran_yet() -> None:
    ran.clear()


@pytest.fixture
def with_tools(reopen: Callable[..., open_graph]) -> Callable[..., open_graph]:
    """Open the graph with a scripted model and tools."""

    def opened(*script: Any, tools: Any = TOOLS, **values: Any) -> open_graph:
        return reopen(model=scripted(*script), tools=tools, **values)

    return opened


def kinds(messages: Any) -> list[str]:
    return [message.type for message in messages]


def results(messages: Any) -> list[str]:
    return [message.text for message in messages if isinstance(message, ToolMessage)]


async def test_a_tool_is_called_and_the_answer_follows_and_all_is_archived_with_the_turn(
    reopen: Callable[..., open_graph],
) -> None:
    model = scripted(calls(("weather", {"city": "Oslo"}), text="Let me look."), "It rains in Oslo.")
    async with reopen(model=model, tools=[weather]) as graph:
        state = await say(graph, "What is the weather in Oslo?")
    assert kinds(state["messages"]) == ["human", "ai", "tool", "ai"]
    assert results(state["messages"]) == ["rain in Oslo"]
    assert kinds(model.prompts[1]) == ["system", "human", "ai", "tool"]
    assert model.bound == [weather]
    assert (state["reply"].tool_rounds, state["reply"].finish) == (1, None)
    assert [call.finish for call in state["reply"].calls] == ["tool_calls", None]
    kept = await reopen().resources.of_user("ada").archive.messages("t1")
    assert [message.role for message in kept] == ["user", "assistant", "tool", "assistant"]
    assert kept[1].message.tool_calls == state["messages"][1].tool_calls
    assert kept[2].message.tool_call_id == kept[1].message.tool_calls[0]["id"]


def test_tools_work_under_invoke(reopen: Callable[..., open_graph]) -> None:
    with reopen(model=scripted(calls(("weather", {"city": "Rome"})), "Rain."), tools=[weather]) as graph:
        state = graph.invoke({"messages": [("user", "Rome?")]}, thread(), context={"user_id": "ada"})
    assert results(state["messages"]) == ["rain in Rome"]


async def test_a_function_a_schema_and_a_state_reading_tool_can_be_bound(reopen: Callable[..., open_graph]) -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @tool
    def asked(state: Annotated[dict[str, Any], InjectedState]) -> str:
        """What was asked."""
        return state["messages"][0].text

    schema = {
        "type": "function",
        "function": {"name": "dial", "description": "Dial.", "parameters": {"type": "object", "properties": {}}},
    }
    model = scripted(calls(("add", {"a": 2, "b": 3}), ("asked", {})), "5")
    async with reopen(model=model, tools=[add, asked, schema]) as graph:
        state = await say(graph, "What is 2 + 3?")
    assert results(state["messages"]) == ["5", "What is 2 + 3?"]
    assert model.bound[2] == schema
    assert isinstance(model.bound[0], BaseTool)


async def test_what_only_the_caller_can_run_ends_the_turn_and_its_result_goes_on(
    reopen: Callable[..., open_graph],
) -> None:
    dial = {"name": "dial", "description": "Dial a number.", "parameters": {"type": "object", "properties": {}}}
    model = scripted(calls(("weather", {"city": "Bern"}), ("dial", {})), "Nobody is there.")
    async with reopen(model=model, tools=[weather, dial]) as graph:
        state = await say(graph, "Call Bern.")
        assert kinds(state["messages"]) == ["human", "ai", "tool"]
        assert len(model.prompts) == 1
        answer = {"messages": [ToolMessage("no answer", tool_call_id="c1", name="dial")]}
        state = await graph.ainvoke(answer, thread(), context={"user_id": "ada"})
    assert results(model.prompts[1]) == ["rain in Bern", "no answer"]
    assert state["messages"][-1].text == "Nobody is there."


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("breaks", {}), "Error: KeyError: 'no such row'"),
        (("leaves", {}), "Error: the tool 'leaves' ended with SystemExit."),
        (("is_cancelled", {}), "Error: the tool 'is_cancelled' ended with CancelledError."),
        (("slow", {"seconds": 30}), "Error: the tool 'slow' gave no result in 1 s."),
        (("hangs", {}), "Error: the tool 'hangs' gave no result in 1 s."),
        (("wizardry", {}), "Error: wizardry is not a valid tool, try one of"),
        (("weather", {"town": "Oslo"}), "Error: ToolInvocationError"),
        (("weather", "city is Oslo"), "Error: not run, the arguments are not whole JSON: city is Oslo"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
async def test_a_tool_that_fails_is_told_to_the_model_and_the_turn_goes_on(
    with_tools: Callable[..., open_graph], call: Any, told: str
) -> None:
    limit = {"tool": 1} if "no result" in told else {}
    opened = with_tools(calls(call, ("weather", {"city": "Oslo"})), "I could not find out.", timeouts=limit)
    async with opened as graph:
        state = await say(graph, "Try.")
    failed, fine = (message for message in state["messages"] if isinstance(message, ToolMessage))
    if isinstance(call[1], str):
        failed, fine = fine, failed
    assert failed.text.startswith(told)
    assert (failed.status, fine.text) == ("error", "rain in Oslo")
    assert state["messages"][-1].text == "I could not find out."
    assert state["after_reply"].error is None
    assert state["messages"][1].invalid_tool_calls == []


async def test_a_call_that_was_cut_off_is_not_run_with_half_of_its_arguments(
    with_tools: Callable[..., open_graph],
) -> None:
    """LangChain completes cut JSON: {"city": "Os becomes {"city": "Os"}."""
    cut = calls(("weather", {"city": "Oslo"}), ("weather", '{"city": "Berg'))
    cut.response_metadata = {"finish_reason": "length"}
    async with with_tools(cut, "Only Oslo.") as graph:
        state = await say(graph, "Oslo and Bergen?")
    assert ran == ["Oslo"]
    assert results(state["messages"])[1].startswith("Error: not run, the arguments are not whole JSON")
    assert state["reply"].calls[0].finish == "length"


async def test_calls_without_an_id_or_with_the_same_are_told_apart(with_tools: Callable[..., open_graph]) -> None:
    reply = calls(("weather", {"city": "A"}), ("weather", {"city": "B"}), ids=["same", "same"])
    async with with_tools(reply, "Done.") as graph:
        state = await say(graph, "Both.")
    asked = state["messages"][1].tool_calls
    assert len({call["id"] for call in asked}) == 2
    assert [message.tool_call_id for message in state["messages"][2:4]] == [call["id"] for call in asked]
    assert results(state["messages"]) == ["rain in A", "rain in B"]


async def test_rounds_are_bounded_and_the_model_is_told_to_answer(with_tools: Callable[..., open_graph]) -> None:
    again = [calls(("weather", {"city": f"{n}"}), ids=[f"c{n}"]) for n in range(4)]
    async with with_tools(*again[:3], "Enough.", max_tool_rounds=2) as graph:
        state = await say(graph, "Go on.")
    assert ran == ["0", "1"]
    assert results(state["messages"])[-1].startswith("Error: not run, this turn has had its 2 rounds")
    assert state["messages"][-1].text == "Enough."
    assert state["reply"].tool_rounds == 3


async def test_a_model_that_never_stops_calling_gives_its_text_or_a_clear_error(
    with_tools: Callable[..., open_graph],
) -> None:
    async with with_tools(calls(("weather", {"city": "X"}), text="Still looking."), max_tool_rounds=1) as graph:
        state = await say(graph, "Go on.")
        assert (state["messages"][-1].text, state["messages"][-1].tool_calls) == ("Still looking.", [])
    async with with_tools(calls(("weather", {"city": "X"})), max_tool_rounds=1) as graph:
        with pytest.raises(ModelError, match="goes on calling tools after 1 rounds"):
            await say(graph, "Go on.", to="t2")
    assert ran == ["X", "X"]


async def test_no_rounds_bind_no_tools(reopen: Callable[..., open_graph]) -> None:
    model = scripted("No tools here.")
    async with reopen(model=model, tools=[weather], max_tool_rounds=0) as graph:
        await say(graph, "Hello.")
    assert model.bound == []


async def test_a_model_that_takes_no_tools_answers_without_and_the_state_says_so(
    reopen: Callable[..., open_graph],
) -> None:
    async with reopen(model=EchoModel(prompts=[]), tools=[weather]) as graph:
        state = await say(graph, "hello")
    assert state["messages"][-1].text == "You said: hello"
    assert state["reply"].degraded == ("The chat model 'echo' takes no tools: it answered without them.",)


async def test_a_huge_result_is_archived_whole_and_cut_for_the_model(reopen: Callable[..., open_graph]) -> None:
    whole = "START " + "word " * 100_000 + "END"

    @tool
    def everything() -> str:
        """All of it."""
        return whole

    model = scripted(calls(("everything", {})), "That is much.")
    async with reopen(model=model, tools=[everything], max_tool_tokens=200) as graph:
        await say(graph, "Give me everything.")
    (sent,) = results(model.prompts[1])
    assert len(sent) < 2000
    assert sent.startswith("START")
    assert sent.endswith("END")
    assert (await reopen().resources.of_user("ada").archive.messages("t1"))[2].text == whole


@pytest.mark.parametrize("artifact", [threading.Lock(), {"x": float("nan")}, b"\x00\xff", HumanMessage("hi")])
async def test_an_artifact_of_any_kind_fails_neither_checkpoint_nor_archive(
    reopen: Callable[..., open_graph], artifact: Any
) -> None:
    @tool(response_format="content_and_artifact")
    def query() -> tuple[str, Any]:
        """Query."""
        return "three \x00rows", artifact

    async with reopen(model=scripted(calls(("query", {})), "Three."), tools=[query]) as graph:
        state = await say(graph, "How many?")
        assert (await graph.aget_state(thread())).values["messages"][2].text == "three rows"
    assert state["after_reply"].error is None
    assert len(await reopen().resources.of_user("ada").archive.messages("t1")) == 4


@tool
def whose(runtime: ToolRuntime[Settings, Any]) -> str:
    """Whose turn it is."""
    return str(runtime.context.user_id)


@pytest.mark.parametrize(
    ("context", "user"), [(None, "grace"), ({"max_memories": 3}, "grace"), ({"user_id": "ada"}, "ada")]
)
async def test_a_tool_finds_the_settings_of_the_run_as_its_context(
    reopen: Callable[..., open_graph], context: Any, user: str
) -> None:
    async with reopen(model=scripted(calls(("whose", {})), "Yours."), tools=[whose], user_id="grace") as graph:
        state = await graph.ainvoke({"messages": [("user", "Whose?")]}, thread(), context=context)
    assert results(state["messages"]) == [user]


@tool(return_direct=True)
def says(text: str) -> str:
    """Says it."""
    if text == "fail":
        raise ValueError("no text")
    return text


@pytest.mark.parametrize(
    ("wanted", "then"),
    [
        ([("says", {"text": "Here."})], ["Here."]),
        ([("says", {"text": "Here."}), ("weather", {"city": "Oslo"})], ["Here.", "rain in Oslo", "It rains."]),
        ([("says", {"text": "fail"})], ["Error: ValueError: no text", "It rains."]),
    ],
    ids=["alone", "beside another", "failed"],
)
async def test_what_a_tool_returns_directly_is_the_answer_unless_it_failed_or_others_were_called(
    with_tools: Callable[..., open_graph], reopen: Callable[..., open_graph], wanted: Any, then: list[str]
) -> None:
    async with with_tools(calls(*wanted), "It rains.", "Next.", tools=[*TOOLS, says]) as graph:
        state = await say(graph, "Say it.")
        assert [message.text for message in state["messages"][2:]] == then
        assert state["report"]["reply"]["tool_rounds"] == 1
        assert (await say(graph, "And now?"))["messages"][-1].text in {"It rains.", "Next."}
    assert then[0] in [message.text for message in await reopen().resources.of_user("ada").archive.messages("t1")]


async def test_a_tool_may_update_the_state_by_a_command(reopen: Callable[..., open_graph]) -> None:
    @tool
    def note(tool_call_id: Annotated[str, "injected"] = "c0") -> Any:
        """Note."""
        return Command(update={"messages": [ToolMessage("noted", tool_call_id=tool_call_id)]})

    async with reopen(model=scripted(calls(("note", {})), "Noted."), tools=[note]) as graph:
        state = await say(graph, "Note this.")
    assert kinds(state["messages"]) == ["human", "ai", "tool", "ai"]


async def test_an_interrupt_waits_for_a_person_and_finished_calls_do_not_run_again(
    with_tools: Callable[..., open_graph], reopen: Callable[..., open_graph]
) -> None:
    reply = calls(("weather", {"city": "Oslo"}), ("approve", {"amount": 5}))
    async with with_tools(reply, "never") as graph:
        state = await say(graph, "Pay.")
        assert [stop.value for stop in state["__interrupt__"]] == [{"amount": 5}]
    async with with_tools("Paid.") as graph:
        state = await graph.ainvoke(Command(resume="yes"), thread(), context={"user_id": "ada"})
    assert results(state["messages"]) == ["rain in Oslo", "approved: yes"]
    assert state["messages"][-1].text == "Paid."
    assert ran == ["Oslo"]
    kept = await reopen().resources.of_user("ada").archive.messages("t1")
    assert [message.role for message in kept] == ["user", "assistant", "tool", "tool", "assistant"]


async def test_a_call_left_open_gets_a_stand_in_in_the_prompt_alone_so_that_the_next_turn_can_be_sent(
    reopen: Callable[..., open_graph],
) -> None:
    model = scripted(calls(("approve", {"amount": 5})), "Never mind.")
    async with reopen(model=model, tools=TOOLS) as graph:
        await say(graph, "Pay.")
        state = await say(graph, "No, forget it.")
        assert len((await graph.aget_state(thread())).values["chain"]["links"]) == 4
    assert kinds(state["messages"]) == ["human", "ai", "human", "ai"]
    assert kinds(model.prompts[1]) == ["system", "human", "ai", "tool", "human"]
    assert results(model.prompts[1]) == ["Error: no result, the call was interrupted before it ended."]
    kept = await reopen().resources.of_user("ada").archive.messages("t1")
    assert [message.role for message in kept] == ["user", "assistant", "user", "assistant"]


async def test_a_result_that_comes_late_takes_the_place_of_its_stand_in(reopen: Callable[..., open_graph]) -> None:
    dial = {"name": "dial", "description": "Dial.", "parameters": {"type": "object", "properties": {}}}
    model = scripted(calls(("dial", {})), "I wait.", "They answered.")
    async with reopen(model=model, tools=[dial]) as graph:
        await say(graph, "Call them.")
        await say(graph, "Any news?")
        late = {"messages": [ToolMessage("hello?", tool_call_id="c0", name="dial"), ("user", "And now?")]}
        state = await graph.ainvoke(late, thread(), context={"user_id": "ada"})
    assert kinds(state["messages"]) == ["human", "ai", "human", "ai", "tool", "human", "ai"]
    assert results(model.prompts[1]) == ["Error: no result, the call was interrupted before it ended."]
    assert results(model.prompts[2]) == ["hello?"]
    assert kinds(model.prompts[2])[:4] == ["system", "human", "ai", "tool"]


async def test_a_late_result_alone_is_answered_and_the_prompt_does_not_end_with_a_reply(
    reopen: Callable[..., open_graph],
) -> None:
    dial = {"name": "dial", "description": "Dial.", "parameters": {"type": "object", "properties": {}}}
    model = scripted(calls(("dial", {})), "I wait.", "They answered.")
    async with reopen(model=model, tools=[dial]) as graph:
        await say(graph, "Call them.")
        await say(graph, "Any news?")
        late = {"messages": [ToolMessage("hello?", tool_call_id="c0", name="dial")]}
        state = await graph.ainvoke(late, thread(), context={"user_id": "ada"})
    assert kinds(state["messages"]) == ["human", "ai", "human", "ai", "tool", "ai"]
    assert kinds(model.prompts[2]) == ["system", "human", "ai", "tool", "human", "ai", "human"]
    assert results(model.prompts[2]) == ["hello?"]


async def test_a_crash_between_calls_and_results_is_resumed_without_running_twice(
    reopen: Callable[..., open_graph],
) -> None:
    model = scripted(calls(("weather", {"city": "Oslo"})), ConnectionError("down"), "Rain.")
    async with reopen(model=model, tools=[weather], timeouts="retries=0") as graph:
        with pytest.raises(ModelError, match="down"):
            await say(graph, "Oslo?")
        state = await graph.ainvoke(None, thread(), context={"user_id": "ada"})
    assert kinds(state["messages"]) == ["human", "ai", "tool", "ai"]
    assert ran == ["Oslo"]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([weather, weather], "Two tools are called 'weather'"),
        ([42], "A int is no tool"),
        ([lambda x: x], "cannot be a tool"),
    ],
)
def test_what_is_no_tool_gets_one_sentence(tools: Any, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        build_graph(tools=tools)


async def test_many_turns_with_tools_are_summarized_and_stay_valid(
    with_tools: Callable[..., open_graph], embeddings: Embeddings, reopen: Callable[..., open_graph]
) -> None:
    script = [entry for n in range(8) for entry in (calls(("weather", {"city": f"C{n}"}), ids=[f"k{n}"]), f"Rain {n}.")]
    model = scripted(*script)
    async with reopen(model=model, tools=[weather]) as graph:
        for n in range(8):
            state = await say(graph, f"Weather in C{n}?")
    assert len(await reopen().resources.of_user("ada").archive.messages("t1")) == 32
    for prompt in model.prompts:
        asked = [call["id"] for message in prompt if isinstance(message, AIMessage) for call in message.tool_calls]
        assert asked == [message.tool_call_id for message in prompt if isinstance(message, ToolMessage)]
    assert state["messages"][-1].text == "Rain 7."
