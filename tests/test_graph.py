"""The graph from Python: a turn in each way, users, threads, memory, summaries, the picture."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from conversation import BrokenModel, EchoModel, counting_model, say, thread
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver

from everthread import DEFAULT_USER, ModelError, Settings, SettingsError, ThreadOwnershipError, build_graph, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.storage.archive import Archive


async def test_a_turn_is_answered_and_the_reply_is_the_last_message(graph: CompiledConversation) -> None:
    state = await say(graph, "hello")
    assert [message.type for message in state["messages"]] == ["human", "ai"]
    assert state["messages"][-1].content == "You said: hello"


async def test_tokens_and_node_updates_stream_and_nothing_else_is_in_the_stream_of_messages(
    settings: Settings, embeddings: Embeddings
) -> None:
    async with open_graph(settings, model=counting_model("one two three {n}"), embeddings=embeddings) as graph:
        for _ in range(4):
            tokens, nodes = [], []
            stream = graph.astream(
                {"messages": [("user", "hello")]},
                thread(),
                context={"user_id": "ada"},
                stream_mode=["messages", "updates"],
            )
            async for mode, part in stream:
                if mode == "messages":
                    assert part[1]["langgraph_node"] == "llm_call"
                    tokens.append(part[0].content)
                else:
                    nodes.extend(part)
            assert len(tokens) >= 7
            assert nodes.index("context_assembly") > max(nodes.index("pairing"), nodes.index("keyword_check"))
            assert nodes.count("context_assembly") == 1
            assert nodes.index("remember") > nodes.index("llm_call")


def test_invoke_and_stream_work_as_well(settings: Settings, embeddings: Embeddings) -> None:
    with open_graph(settings, model=counting_model("one two {n}"), embeddings=embeddings) as graph:
        first = graph.invoke({"messages": [("user", "hi")]}, thread(), context={"user_id": "ada"})
        assert first["messages"][-1].content == "one two 1"
        parts = graph.stream(
            {"messages": [("user", "hi")]}, thread(), context={"user_id": "ada"}, stream_mode="messages"
        )
        assert "".join(part[0].content for part in parts) == "one two 2"
        assert len(graph.get_state(thread()).values["messages"]) == 4
        assert list(graph.get_state_history(thread()))


async def test_sync_calls_from_inside_an_event_loop_work(graph: CompiledConversation) -> None:
    state = await asyncio.to_thread(graph.invoke, {"messages": [("user", "hi")]}, thread())
    assert state["messages"][-1].content == "You said: hi"


def test_one_open_graph_serves_several_event_loops(settings: Settings, embeddings: Embeddings) -> None:
    with open_graph(settings, model=counting_model(), embeddings=embeddings) as graph:
        asyncio.run(say(graph, "one"))
        state = asyncio.run(say(graph, "two"))
        assert len(state["messages"]) == 4


async def test_what_runs_without_a_user_belongs_to_the_default_user(
    graph: CompiledConversation, reopen: Callable[..., open_graph]
) -> None:
    await graph.ainvoke({"messages": [("user", "hello")]}, thread("mine"))
    archive: Archive = reopen().resources.of_user(DEFAULT_USER).archive
    assert [message.text for message in await archive.messages("mine")] == ["hello", "You said: hello"]


async def test_a_thread_goes_on_where_it_was_after_a_restart(reopen: Callable[..., open_graph]) -> None:
    async with reopen() as graph:
        await say(graph, "first")
    async with reopen() as graph:
        state = await say(graph, "second")
    assert [message.content for message in state["messages"]][::2] == ["first", "second"]


async def test_a_fact_from_another_thread_comes_back_with_its_reply(graph: CompiledConversation) -> None:
    """Seed 000, context pairing: a user's message brings the reply that followed it."""
    await say(graph, "My dog is called Biscuit and she loves swimming.", to="monday")
    await say(graph, "The meeting with the bank is on the third floor.", to="monday")
    state = await say(graph, "What is the name of my dog?", to="tuesday")
    memory = state["recall"].memories[0]
    assert [fragment.role for fragment in memory.fragments][:2] == ["user", "assistant"]
    assert "Biscuit" in memory.fragments[0].content
    assert memory.similarity is not None
    assert memory.similarity >= 0.7
    assert "Biscuit" in state["context"].messages[-1].text
    assert state["context"].messages[-1].text.endswith("What is the name of my dog?")


async def test_a_found_reply_brings_the_query_before_it(settings: Settings, embeddings: Embeddings) -> None:
    model = counting_model("The capital of Mongolia is Ulaanbaatar.")
    async with open_graph(settings, model=model, embeddings=embeddings) as graph:
        await say(graph, "Tell me.", to="one")
        state = await say(graph, "Which city is the capital of Mongolia?", to="two")
    assert [fragment.content for fragment in state["recall"].memories[0].fragments] == [
        "Tell me.", "The capital of Mongolia is Ulaanbaatar.",
    ]  # fmt: skip


async def test_what_stands_in_the_live_chain_is_not_recalled_too(graph: CompiledConversation) -> None:
    await say(graph, "My dog is called Biscuit.")
    state = await say(graph, "What is my dog called?")
    assert state["recall"].memories == ()


async def test_recall_can_be_kept_to_the_thread_and_turned_off(graph: CompiledConversation) -> None:
    await say(graph, "My dog is called Biscuit.", to="one")
    assert (await say(graph, "What is my dog called?", to="two", memory_scope="thread"))["recall"].memories == ()
    assert (await say(graph, "What is my dog called?", to="two", max_memories=0))["recall"].memories == ()
    assert (await say(graph, "What is my dog called?", to="two"))["recall"].memories != ()


async def test_nobody_recalls_what_another_user_said(graph: CompiledConversation) -> None:
    for user in ["a", "a%", "ab", "a'; DROP TABLE messages; --", "A", "ä"]:
        await say(graph, f"My secret word is swordfish-{user}.", to=f"thread of {user}", user=user)
    for user in ["a", "a%", "ab", "a'; DROP TABLE messages; --", "A", "ä"]:
        state = await say(graph, "What is my secret word?", to=f"new thread of {user}", user=user)
        texts = [fragment.content for memory in state["recall"].memories for fragment in memory.fragments]
        assert [text for text in texts if text.startswith("My secret word")] == [f"My secret word is swordfish-{user}."]
        assert all(f"swordfish-{user}" in text for text in texts if "swordfish" in text)


async def test_a_thread_of_another_user_is_refused_and_shows_nothing(graph: CompiledConversation) -> None:
    await say(graph, "my secret", user="ada")
    seen = graph.astream({"messages": [("user", "show")]}, thread(), context={"user_id": "bob"}, stream_mode="values")
    with pytest.raises(ThreadOwnershipError, match="'t1' belongs to another user"):
        await anext(seen)
    assert [m.content for m in (await graph.aget_state(thread())).values["messages"]] == [
        "my secret",
        "You said: my secret",
    ]


async def test_six_messages_leave_three_and_a_summary_that_names_its_sources(
    graph: CompiledConversation, reopen: Callable[..., open_graph]
) -> None:
    for text in ["I moved to Lisbon in May 2021.", "I work as a nurse.", "My sister Clara lives in Porto."]:
        state = await say(graph, text)
    assert [message.type for message in state["messages"]] == ["human", "ai"] * 3
    chain = (await graph.aget_state(thread())).values["chain"]["links"]
    assert [link.get("level") for link in chain] == [None, None, None, 1]

    archive = reopen().resources.of_user("ada").archive
    (summary,) = await archive.summaries("t1")
    messages = await archive.messages("t1")
    assert summary.source_ids == tuple(message.id for message in messages[3:])
    assert chain[3] == {"id": summary.id, "level": 1, "source_ids": list(summary.source_ids)}
    assert [message.active for message in messages] == [True] * 3 + [False] * 3
    assert {message.chunk_id for message in messages[3:]} == {1}

    state = await say(graph, "And now?")
    chain = (await graph.aget_state(thread())).values["chain"]["links"]
    assert [link.get("level") for link in chain] == [None, None, None, 1, None, None]
    assert "Clara" in state["context"].messages[-2].text


@pytest.mark.slow
async def test_the_state_stays_bounded_while_the_archive_grows(
    settings: Settings, embeddings: Embeddings, reopen: Callable[..., open_graph]
) -> None:
    few = settings.but(visible_messages=10)
    async with open_graph(few, model=counting_model(), embeddings=embeddings) as graph:
        for n in range(40):
            state = await say(graph, f"Remark number {n} about the garden.")
            assert len(state["messages"]) <= 12
            assert isinstance(state["messages"][0], HumanMessage)
            newest = [f"Remark number {n} about the garden.", f"Reply {n + 1}."]
            assert [message.text for message in state["messages"][-2:]] == newest
        assert len((await graph.aget_state(thread())).values["chain"]["links"]) <= 16
    assert len(await reopen().resources.of_user("ada").archive.messages("t1")) == 80


async def test_a_failing_model_gives_one_sentence_and_the_question_is_kept(
    reopen: Callable[..., open_graph],
) -> None:
    async with reopen(model=BrokenModel(prompts=[])) as graph:
        with pytest.raises(ModelError, match=r"failed: the provider is down\. What you said is kept"):
            await say(graph, "Do not lose this.")
    model = EchoModel(prompts=[])
    async with reopen(model=model) as graph:
        await say(graph, "Are you back?")
    assert "Do not lose this." in str(model.prompts[-1])
    texts = [message.text for message in await reopen().resources.of_user("ada").archive.messages("t1")]
    assert texts[:2] == ["Do not lose this.", "Are you back?"]


async def test_a_turn_that_broke_off_is_resumed_from_where_it_was(reopen: Callable[..., open_graph]) -> None:
    async with reopen(model=BrokenModel(prompts=[])) as graph:
        with pytest.raises(ModelError):
            await say(graph, "Finish this.")
        assert (await graph.aget_state(thread())).next == ("llm_call",)
    async with reopen() as graph:
        state = await graph.ainvoke(None, thread(), context={"user_id": "ada"})
    assert state["messages"][-1].content == "You said: Finish this."


async def test_the_graph_can_be_embedded_with_ones_own_checkpointer(
    settings: Settings, echo: EchoModel, embeddings: Embeddings
) -> None:
    graph = build_graph(settings, model=echo, embeddings=embeddings).compile(checkpointer=InMemorySaver())
    assert (await say(graph, "hello"))["messages"][-1].content == "You said: hello"
    again = await asyncio.to_thread(
        graph.invoke, {"messages": [("user", "again")]}, thread(), context={"user_id": "ada"}
    )
    assert again["messages"][-1].content == "You said: again"


async def test_concurrent_turns_of_many_users_do_not_mix(graph: CompiledConversation) -> None:
    """Report langgraphjs #2040: concurrent calls on one graph leaked state between threads."""
    states = await asyncio.gather(*(say(graph, f"I am user {n}", to=f"t{n}", user=f"u{n}") for n in range(12)))
    for n, state in enumerate(states):
        assert [message.content for message in state["messages"]] == [f"I am user {n}", f"You said: I am user {n}"]


EDGES = {
    ("__start__", "command", "a /command"), ("command", "__end__", None),
    ("__start__", "__end__", "nothing to answer"),
    ("__start__", "keyword_check", None), ("__start__", "memory_retrieval", None),
    ("keyword_check", "web_search", "hit"), ("keyword_check", "slm_router", "no hit"),
    ("keyword_check", "context_assembly", "no search"),
    ("slm_router", "web_search", "yes"), ("slm_router", "context_assembly", "no"),
    ("web_search", "context_assembly", None), ("memory_retrieval", "pairing", None),
    ("pairing", "context_assembly", None), ("context_assembly", "llm_call", None),
    ("llm_call", "tools", "tool calls"), ("tools", "llm_call", None), ("llm_call", "remember", "answer"),
    ("remember", "summarize", "due"), ("remember", "__end__", "not due"),
    ("summarize", "summarize", "due"), ("summarize", "__end__", "not due"),
}  # fmt: skip


def test_the_drawn_graph_is_the_diagram_with_every_condition_labelled() -> None:
    drawn = build_graph().compile().get_graph()
    assert {(edge.source, edge.target, edge.data) for edge in drawn.edges} == EDGES


@pytest.mark.parametrize("door", [open_graph, build_graph])
def test_a_setting_that_is_given_like_a_component_is_told_where_it_belongs(door: Any) -> None:
    with pytest.raises(SettingsError, match=r"'n_sum' is a setting, and no component: give Settings\(n_sum="):
        door(Settings(), n_sum=4)


def test_input_and_output_are_described_by_a_schema() -> None:
    graph = build_graph().compile()
    assert "messages" in graph.get_input_jsonschema()["properties"]
    assert graph.get_output_jsonschema()["properties"].keys() == {"messages", "structured_response"}


async def test_the_state_can_be_changed_from_outside_after_a_turn(graph: CompiledConversation) -> None:
    state = await say(graph, "hello")
    edited = AIMessage("Edited.", id=state["messages"][-1].id)
    await graph.aupdate_state(thread(), {"messages": [edited]})
    snapshot = await graph.aget_state(thread())
    assert (snapshot.next, snapshot.values["messages"][-1].text) == ((), "Edited.")


async def test_removing_a_message_that_is_not_there_does_not_spoil_the_thread(graph: CompiledConversation) -> None:
    await say(graph, "hello")
    await graph.aupdate_state(thread(), {"messages": [RemoveMessage(id="nowhere")]}, as_node="llm_call")
    assert (await say(graph, "still there?"))["messages"][-1].content.endswith("still there?")
