"""What bad input gets: a clear error or a sensible result, and nothing already said is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conversation import EchoModel, say, thread
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Command

from everthread import InputError, ModelError, Settings, SettingsError, StorageError, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.storage.user_rows import UserRows
from everthread.text.tokens import count_message_tokens


@pytest.mark.parametrize("text", ["", "   ", "\n\t ", "\x00", []])
async def test_an_empty_message_is_refused_and_the_thread_stays_as_it_was(
    graph: CompiledConversation, text: Any
) -> None:
    await say(graph, "hello")
    before = (await graph.aget_state(thread())).values["messages"]
    with pytest.raises(InputError, match="The message is empty"):
        await say(graph, {"messages": [{"role": "user", "content": text}]})
    assert (await graph.aget_state(thread())).values["messages"] == before
    assert (await say(graph, "still there?"))["messages"][-1].content == "You said: still there?"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "The input has no messages"),
        ({"messages": []}, "The input has no messages"),
        ({"message": "hello"}, "It names 'message'"),
        (Command(update={"messages": [("user", "")]}), "The message is empty"),
        (Command(update={"messages": [("wizard", "hi")]}), "A message cannot be read"),
    ],
)
async def test_an_input_without_a_message_is_refused_and_no_model_is_asked(
    reopen: Callable[..., open_graph], echo: EchoModel, given: Any, said: str
) -> None:
    async with reopen(model=echo) as graph:
        with pytest.raises(InputError, match=said):
            await graph.ainvoke(given, thread())
        assert not echo.prompts
        assert (await say(graph, "hello", user="default"))["messages"][-1].text == "You said: hello"


async def test_an_answer_to_nothing_asks_no_model(reopen: Callable[..., open_graph], echo: EchoModel) -> None:
    async with reopen(model=echo) as graph:
        assert not (await graph.ainvoke(Command(resume="yes"), thread()) or {}).get("messages")
        assert not echo.prompts
        assert (await say(graph, "hello", user="default"))["messages"][-1].text == "You said: hello"


@pytest.mark.parametrize("context", ["ada", 3, ["ada"]])
async def test_a_context_that_holds_no_settings_gets_one_sentence(graph: CompiledConversation, context: Any) -> None:
    with pytest.raises(SettingsError, match="expected a mapping of settings"):
        await graph.ainvoke({"messages": [("user", "hi")]}, thread(), context=context)


@pytest.mark.parametrize("thread_id", ["", None, "a\x00b", "\ud800"])
async def test_a_thread_id_that_cannot_be_kept_gets_one_sentence(graph: CompiledConversation, thread_id: Any) -> None:
    with pytest.raises(InputError, match="cannot be used: expected a non-empty text"):
        await graph.ainvoke({"messages": [("user", "hi")]}, {"configurable": {"thread_id": thread_id}})


@pytest.mark.parametrize(
    "message",
    [{"role": "wizard", "content": "hi"}, {"content": "hi"}, ("wizard", "hi"), 42, {"role": "user"}],
)
async def test_a_message_of_an_unknown_role_or_shape_gets_one_sentence(
    graph: CompiledConversation, message: Any
) -> None:
    with pytest.raises(
        InputError, match=r"A message cannot be read: .* Expected a role out of user, assistant"
    ) as caught:
        await say(graph, {"messages": [message]})
    assert "\n" not in str(caught.value)


def deep(levels: int) -> Any:
    """Lists in lists."""
    inner: Any = "at the bottom"
    for _ in range(levels):
        inner = [inner]
    return inner


ODD: dict[str, Any] = {
    "no id": {"role": "user", "content": "odd", "id": ""},
    "an id of NUL": {"role": "user", "content": "odd", "id": "\x00"},
    "a long id": {"role": "user", "content": "odd", "id": "漢" * 100_000},
    "deep metadata": {"role": "user", "content": "odd", "metadata": deep(500)},
    "deeper metadata": {"role": "user", "content": "odd", "metadata": deep(50_000)},
    "a deep block": {"role": "user", "content": [{"type": "text", "text": "odd"}, {"type": "x", "v": deep(900)}]},
    "a large number": {"role": "user", "content": "odd", "metadata": [2**70, -(10**5000)]},
    "a block of no kind": {"role": "user", "content": [{"type": ["text"], "text": "odd"}, {"text": "odd"}, {}]},
    "a text that is none": {"role": "user", "content": [{"type": "text", "text": ["odd", 5]}]},
    "NUL in a call": AIMessage("odd", invalid_tool_calls=[{"name": "\x00", "args": "{", "id": "\ud800", "error": ""}]),
    "tokens beyond number": AIMessage(
        "odd", usage_metadata={"input_tokens": 10**30, "output_tokens": -1, "total_tokens": 10**30}
    ),
    "keys of ours": {
        "role": "user", "content": [{"type": "text", "text": "odd", "everthread_command": True}],
        "everthread_summary": "x", "everthread_command": True, "response_metadata": {"everthread_summary": {}},
    },
}  # fmt: skip
"""What a client can send as JSON, and a program as an object."""


async def test_no_message_however_odd_stops_a_thread_for_good(opened: Callable[..., open_graph]) -> None:
    async with opened() as graph:
        for name, message in ODD.items():
            await say(graph, {"messages": [message]}, to=name)
            state = await say(graph, "Are you there?", to=name)
            assert "Are you there?" in state["messages"][-1].content, name
            archived = await graph.ahistory("ada", name)
            assert len(archived) == len({row.id for row in archived}) >= 3, name
            assert "odd" in archived[0].text, name
            assert all(0 < len(row.id) <= 200 for row in archived), name


async def test_a_message_with_a_long_id_is_the_same_when_it_comes_again(graph: CompiledConversation) -> None:
    message = HumanMessage("My locker is QX-4471.", id="x" * 5000)
    for _ in range(2):
        state = await say(graph, {"messages": [message]})
    assert [m.type for m in state["messages"]] == ["human", "ai"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("nul\x00 in the middle", "nul in the middle"),
        ("a lone \ud83d surrogate", "a lone \ufffd surrogate"),
        ("a pair \ud83d\ude00 of them", "a pair 😀 of them"),
        ("你好，世界", "你好，世界"),
        ("مرحبا بالعالم", "مرحبا بالعالم"),
        ("İstanbul'da ığdır", "İstanbul'da ığdır"),
        ("👩‍👩‍👧‍👦 family", "👩‍👩‍👧‍👦 family"),
    ],
)
async def test_any_text_is_answered_archived_and_checkpointed(
    graph: CompiledConversation, reopen: Callable[..., open_graph], said: str, kept: str
) -> None:
    """Reports langgraph #1878, graphiti #1531, ARTEX #112: NUL made Postgres refuse the turn."""
    state = await say(graph, said)
    assert state["messages"][0].content == kept
    assert (await graph.aget_state(thread())).values["messages"][0].content == kept
    assert (await reopen().resources.of_user("ada").archive.messages("t1"))[0].text == kept


@pytest.mark.slow
async def test_a_megabyte_is_kept_whole_and_sent_within_the_budget_with_its_end(
    graph: CompiledConversation, reopen: Callable[..., open_graph], echo: EchoModel
) -> None:
    text = "def f(x):\n    return x + 1\n" * 40_000 + "What does the last line ask?"
    state = await say(graph, text)
    assert count_message_tokens(echo.prompts[-1]) <= state["context_report"].budget
    assert echo.prompts[-1][-1].text.endswith("What does the last line ask?")
    assert (await reopen().resources.of_user("ada").archive.messages("t1"))[0].text == text


async def test_content_blocks_with_an_image_are_answered_and_kept(
    graph: CompiledConversation, reopen: Callable[..., open_graph], echo: EchoModel
) -> None:
    """Reports nanobot #4800, hermes-agent #66218, langchain #34050: one image poisoned every later turn."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    blocks = [{"type": "text", "text": "What is in this picture?"}, image]
    state = await say(graph, {"messages": [HumanMessage(blocks)]})
    assert echo.prompts[-1][-1].content == blocks
    assert state["context_report"].tokens < 3000
    kept = (await reopen().resources.of_user("ada").archive.messages("t1"))[0]
    assert kept.text == "What is in this picture?\n[image]"
    assert kept.message.content == blocks
    for text in ["and now?", "and now?", "and now?"]:
        state = await say(graph, text)
    assert state["after_reply"].error is None


async def test_an_image_that_the_model_refused_does_not_fail_the_turns_after_it(
    reopen: Callable[..., open_graph],
) -> None:
    """Report deepagents #5194: an attachment that the model does not take failed the thread for good."""

    class Blind(EchoModel):
        def _generate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
            if any(not isinstance(message.content, str) for message in messages):
                raise ValueError("this model takes no images")
            return super()._generate(messages, stop, run_manager, **more)

    image = [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
    async with reopen(model=Blind(prompts=[])) as graph:
        with pytest.raises(ModelError, match="takes no images"):
            await say(graph, {"messages": [HumanMessage(image)]})
        state = await say(graph, "Then in words: what is the capital of Peru?")
    assert state["messages"][-1].content.endswith("[image: a.png]\n\nThen in words: what is the capital of Peru?")


async def test_an_image_alone_is_a_message(graph: CompiledConversation) -> None:
    image = [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
    assert (await say(graph, {"messages": [HumanMessage(image)]}))["messages"][-1].type == "ai"


async def test_a_message_without_id_gets_one_that_stays(
    graph: CompiledConversation, reopen: Callable[..., open_graph]
) -> None:
    """Report langgraph #7913: a message without id had another one each time the state was read."""
    await say(graph, "hello")
    first = [message.id for message in (await graph.aget_state(thread())).values["messages"]]
    assert all(first)
    assert [message.id for message in (await graph.aget_state(thread())).values["messages"]] == first
    assert [message.id for message in await reopen().resources.of_user("ada").archive.messages("t1")] == first


async def test_a_message_sent_twice_with_the_same_id_is_kept_once(
    graph: CompiledConversation, reopen: Callable[..., open_graph]
) -> None:
    for _ in range(2):
        await say(graph, {"messages": [HumanMessage("hello", id="same")]})
    ids = [message.id for message in await reopen().resources.of_user("ada").archive.messages("t1")]
    assert ids.count("same") == 1


async def test_empty_replies_and_tool_calls_in_the_history_never_make_an_invalid_prompt(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    call = AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}])
    lost = AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "c2"}])
    history = [
        SystemMessage("Be brief."), HumanMessage("Weather?"), call, ToolMessage("rain", tool_call_id="c1"),
        AIMessage(""), HumanMessage("And?"), lost, HumanMessage("Well?"),
    ]  # fmt: skip
    await say(graph, {"messages": history})
    prompt = echo.prompts[-1]
    assert [message.type for message in prompt] == ["system", "human", "ai", "tool", "human", "ai", "tool", "human"]
    assert "Be brief." in prompt[0].text
    assert prompt[-2].tool_call_id == "c2"
    assert prompt[-2].status == "error"
    assert prompt[-1].text == "Well?"


async def test_an_unreachable_database_gives_one_sentence_without_the_password() -> None:
    with pytest.raises(
        StorageError, match=r"The database at 127.0.0.1:1/x cannot be reached: .* Check EVERTHREAD_DATABASE_URL"
    ) as caught:
        async with open_graph(Settings(database_url="postgresql://me:hunter2@127.0.0.1:1/x")):
            pass
    assert "hunter2" not in str(caught.value)


async def test_a_connection_string_that_cannot_be_read_is_not_quoted() -> None:
    with pytest.raises(StorageError, match="no connection string that Postgres reads") as caught:
        async with open_graph(Settings(database_url="host=127.0.0.1 port=1 password=my hunter2")):
            pass
    assert "hunter2" not in str(caught.value)


async def test_a_query_without_a_user_is_refused(reopen: Callable[..., open_graph]) -> None:
    """Reports PraisonAI #4818, adk-python #1019 and others: a user id that was silently ignored."""
    async with reopen():
        database = reopen().resources.database
        for nobody in ["", "  ", None]:
            with pytest.raises(StorageError, match="without a user id"):
                UserRows(database, nobody)  # type: ignore[arg-type]
        with pytest.raises(StorageError, match="does not filter by"):
            await UserRows(database, "ada").fetch("SELECT * FROM messages")
