"""What was said already is not said again: a message whose answer was lost on its way, a whole history without ids."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from conversation import EchoModel, say, thread
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from everthread import Everthread, Settings, build_graph, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.graph.recognition import new_by_content
from everthread.maintenance.doctor import examine
from everthread.storage.loop_checkpointer import LoopCheckpointer

ADA = {"user_id": "ada"}
QUESTION = {"messages": [{"role": "user", "content": "My dog is called Biscuit.", "id": "q1"}]}
REPLY = "You said: My dog is called Biscuit."


@pytest.fixture(params=["opened", "compiled", "sqlite", "json"])
async def door(
    request: pytest.FixtureRequest, settings: Settings, embeddings: Embeddings, echo: EchoModel, tmp_path: Any
) -> AsyncIterator[CompiledConversation]:
    """The graph as it is opened, with a checkpointer of one's own, and on the other storages."""
    if request.param == "compiled":
        graph = build_graph(settings, model=echo, embeddings=embeddings).compile(checkpointer=InMemorySaver())
        yield graph
        await graph.resources.close()
        return
    if request.param != "opened":
        settings = settings.but(database_url=f"{request.param}:///{tmp_path}/memory.{request.param}")
    async with open_graph(settings, model=echo, embeddings=embeddings) as opened:
        yield opened


async def shown(graph: Any) -> list[str]:
    return [message.text for message in (await graph.aget_state(thread())).values["messages"]]


async def archived(graph: Any) -> list[str]:
    return [row.text for row in await graph.ahistory("ada", "t1", limit=1000)]


async def test_a_question_sent_again_has_the_reply_there_is(door: CompiledConversation, echo: EchoModel) -> None:
    """Reviewed: the model was asked a second time, with a prompt that ended in its own reply."""
    first = await door.ainvoke(QUESTION, thread(), context=ADA)
    again = await door.ainvoke(QUESTION, thread(), context=ADA)
    assert [m.id for m in again["messages"]] == [m.id for m in first["messages"]]
    assert len(echo.prompts) == 1
    assert await archived(door) == await shown(door) == ["My dog is called Biscuit.", REPLY]


async def test_a_question_sent_again_while_it_is_answered_is_answered_once(
    door: CompiledConversation, echo: EchoModel
) -> None:
    answers = await asyncio.gather(*(door.ainvoke(QUESTION, thread(), context=ADA) for _ in range(3)))
    assert [answer["messages"][-1].text for answer in answers] == [REPLY] * 3
    assert len(echo.prompts) == 1
    assert await archived(door) == ["My dog is called Biscuit.", REPLY]


class Crash(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("next_question", ["the same", "another"])
async def test_a_reply_that_was_archived_before_a_crash_is_neither_lost_nor_made_again(
    graph: CompiledConversation,
    reopen: Callable[..., open_graph],
    monkeypatch: pytest.MonkeyPatch,
    next_question: str,
) -> None:
    """Reviewed: killed after the archive was written and before the checkpoint, the archive held q, r, r."""
    await say(graph, "Hello.")
    whole, asked = LoopCheckpointer._store, []

    async def dies(self: Any, stored: Any, *rest: Any) -> None:
        values = stored.step.checkpoint["channel_values"]
        if asked and isinstance((values.get("messages") or [None])[-1], AIMessage):
            raise Crash
        asked.append(1)
        await whole(self, stored, *rest)

    monkeypatch.setattr(LoopCheckpointer, "_store", dies)
    with pytest.raises(Crash):
        await graph.ainvoke(QUESTION, thread(), context=ADA)
    monkeypatch.undo()
    assert (await archived(graph))[2:] == ["My dog is called Biscuit.", REPLY]
    model = EchoModel(prompts=[])
    async with reopen(model=model) as again:
        if next_question == "the same":
            state = await again.ainvoke(QUESTION, thread(), context=ADA)
            assert state["messages"][-1].text == REPLY
            assert model.prompts == []
            assert (await examine(again, "ada", "t1"))[0].findings == ()
        await say(again, "And my cat is called Crumb.")
        prompt = [message.text for message in model.prompts[0]]
        assert prompt.count(REPLY) == 1
        texts = await archived(again)
        assert texts[2:4] == ["My dog is called Biscuit.", REPLY]
        assert len(texts) == 6
        assert await shown(again) == texts
        assert (await examine(again, "ada", "t1"))[0].findings == ()


async def test_the_newest_part_of_a_history_without_ids_is_known(door: CompiledConversation, echo: EchoModel) -> None:
    """Clients that keep a window of messages send its oldest ones no longer."""
    said: list[Any] = []
    for n in range(8):
        said = [*said[-5:], ("user", f"Question {n}?")]
        state = await door.ainvoke({"messages": [("system", "Be kind."), *said]}, thread(), context=ADA)
        said.append(("assistant", state["messages"][-1].text))
    assert len(echo.prompts) == 8
    rows = await door.ahistory("ada", "t1", limit=1000)  # type: ignore[attr-defined]
    assert [row.text for row in rows if row.role == "user"] == [f"Question {n}?" for n in range(8)]
    assert len(rows) == 17


async def test_a_history_whose_replies_have_ids_of_the_client_is_known(door: CompiledConversation) -> None:
    said: list[AnyMessage] = []
    for n in range(4):
        said.append(HumanMessage(f"Question {n}?", id=f"q{n}"))
        state = await door.ainvoke({"messages": list(said)}, thread(), context=ADA)
        said.append(AIMessage(state["messages"][-1].text, id=f"client-{n}"))
    assert await archived(door) == await shown(door) == [message.text for message in said]


async def test_a_branch_that_begins_with_a_change_of_an_earlier_state_is_no_accident(
    graph: CompiledConversation,
) -> None:
    for n in range(3):
        await say(graph, f"Remark {n}.")
    states = [state async for state in graph.aget_state_history(thread())]
    earlier = next(state for state in states if len(state.values["messages"]) == 2 and not state.next)
    await graph.aupdate_state(earlier.config, {"messages": [HumanMessage("Another way.", id="x")]}, as_node="command")
    await say(graph, "And on.")
    assert (await shown(graph))[:4] == ["Remark 0.", "You said: Remark 0.", "Another way.", "And on."]
    assert "Remark 1." not in await archived(graph)
    assert (await examine(graph, "ada", "t1"))[0].findings == ()


async def test_a_fork_that_nobody_wanted_is_found_and_put_right(graph: CompiledConversation) -> None:
    """Two processes went on from the same state, with a version that did not keep them apart."""
    await say(graph, "Hello.")
    before = (await graph.aget_state(thread())).values
    await say(graph, "Lost?")
    await graph.aupdate_state(
        thread(),
        {"messages": [RemoveMessage(id="__remove_all__"), *before["messages"]], "chain": before["chain"]},
        as_node="command",
    )
    found = (await examine(graph, "ada", "t1"))[0].findings
    assert [finding.kind for finding in found] == ["lost from chain"]
    assert (await examine(graph, "ada", "t1", repair=True))[0].left == ()
    await say(graph, "Go on.")
    assert (await archived(graph))[2:4] == ["Lost?", "You said: Lost?"]
    assert await shown(graph) == await archived(graph)


TEXTS = st.sampled_from(["yes", "no", "go on", "why?", "Because."])


def talk(texts: Sequence[str], *, ids: bool) -> list[AnyMessage]:
    kinds = (HumanMessage, AIMessage)
    return [kinds[n % 2](text, id=f"m{n}" if ids else None) for n, text in enumerate(texts)]


@given(st.lists(TEXTS, min_size=1, max_size=8), st.integers(0, 15), st.booleans(), TEXTS)
def test_a_history_of_any_words_and_of_any_length_adds_what_is_new(
    pairs: list[str], start: int, instructed: bool, question: str
) -> None:
    """However often the same words come: what is sent again, from any message on that leaves an exchange, is known."""
    said = talk([text for text in pairs for text in (text, f"{text}!")], ids=True)
    start = min(start, len(said) - 2)
    again = [type(message)(message.text) for message in said[start:]]
    before = [SystemMessage("Be kind.")] if instructed else []
    new = new_by_content([*before, *again, HumanMessage(question)], said, said)
    assert [(message.type, message.text) for message in new] == [("human", question)]


@pytest.mark.parametrize("remembers", [True, False], ids=["with a checkpointer", "without"])
async def test_an_agent_is_not_asked_again_what_it_has_answered(
    settings: Settings, embeddings: Embeddings, echo: EchoModel, remembers: bool
) -> None:
    memory = Everthread(settings, embeddings=embeddings, model=echo)
    agent = create_agent(echo, middleware=[memory], checkpointer=InMemorySaver() if remembers else None)
    said: list[Any] = []
    for n in range(5):
        said.append(("user", f"Question {n}?"))
        state = await agent.ainvoke({"messages": list(said)}, thread(), context=ADA)
        said.append(("assistant", state["messages"][-1].text))
    assert len(echo.prompts) == 5
    rows = await memory.memory("ada").ahistory("t1")
    assert [row.text for row in rows] == [text for _, text in said] == [message.text for message in state["messages"]]
    for _ in range(2):
        again = await agent.ainvoke(QUESTION, thread(), context=ADA)
        assert again["messages"][-1].text == REPLY
    assert len(echo.prompts) == 6
    assert len(await memory.memory("ada").ahistory("t1")) == 12
    await memory.aclose()
