"""The commands of seed 003, answered by the graph itself: no search, no recall, no model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conversation import EchoModel, say, thread

from everthread import open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.state.messages import is_command, live_chain


async def answer(graph: CompiledConversation, text: str, *, to: str = "t1") -> str:
    return str((await say(graph, text, to=to))["messages"][-1].text)


async def test_the_two_steps_of_summary_set_a_threshold_for_this_thread_alone(
    reopen: Callable[..., open_graph],
) -> None:
    async with reopen(model=EchoModel(prompts=[]), profile="archive") as graph:
        assert (await answer(graph, "/summary")).startswith("Choose storage format:")
        assert "Send a number 1-500" in await answer(graph, "Postgres")
        assert await answer(graph, "15") == ("External memory configured!\nStorage: Postgres\nThreshold: 15 messages")
        assert "after 15 messages of yours" in await answer(graph, "/summary_status")
        assert "after 10 messages of yours" in await answer(graph, "/summary_status", to="t2")


@pytest.mark.parametrize("wrong", ["0", "501", "-3"])
async def test_a_threshold_out_of_range_is_asked_for_again(reopen: Callable[..., open_graph], wrong: str) -> None:
    async with reopen(model=EchoModel(prompts=[]), profile="archive") as graph:
        await answer(graph, "/summary")
        await answer(graph, "Postgres")
        assert "Send a number 1-500" in await answer(graph, wrong)


async def test_a_command_runs_nothing_else_of_the_turn_and_no_model_ever_reads_it(
    reopen: Callable[..., open_graph],
) -> None:
    model = EchoModel(prompts=[])
    async with reopen(model=model) as graph:
        await say(graph, "My dog is called Biscuit.")
        asked = len(model.prompts)
        state = await say(graph, "/summary_status")
        assert len(model.prompts) == asked
        assert [is_command(message) for message in state["messages"]] == [False, False, True, True]
        assert state["messages"][-1].text.startswith("Summaries: on")
        await say(graph, "And my cat is Crumb.")
        assert not any("/summary" in str(m.content) for prompt in model.prompts for m in prompt)
        state = await graph.aget_state(thread())
        assert not any("/summary" in str(m.content) for m in live_chain(state.values["messages"]))


async def test_summaries_can_be_turned_off_and_on_and_nothing_is_lost(reopen: Callable[..., open_graph]) -> None:
    async with reopen(model=EchoModel(prompts=[])) as graph:
        await answer(graph, "/summary_off")
        for n in range(5):
            state = await say(graph, f"Remark number {n} about the garden.")
        assert not state["upkeep"].summaries
        assert len(live_chain(state["messages"])) == 10
        await answer(graph, "/summary_on")
        state = await say(graph, "One more remark about the garden.")
        assert state["upkeep"].summaries


async def test_summary_now_summarizes_at_once_whatever_the_threshold(reopen: Callable[..., open_graph]) -> None:
    async with reopen(model=EchoModel(prompts=[]), profile="archive") as graph:
        await say(graph, "The garden needs a new fence before the winter comes.")
        assert (await answer(graph, "/summary_now")).startswith("2 messages are summarized now")
        assert "Messages since the last summary: 0" in await answer(graph, "/summary_status")
        assert "nothing to summarize" in await answer(graph, "/summary_now")


async def test_an_unknown_command_is_an_ordinary_message(graph: CompiledConversation) -> None:
    assert await answer(graph, "/etc/hosts is a file") == "You said: /etc/hosts is a file"


def test_commands_work_in_sync_code_too(reopen: Callable[..., open_graph]) -> None:
    with reopen(model=EchoModel(prompts=[])) as graph:
        state = graph.invoke({"messages": [("user", "/summary_status")]}, thread())
    assert state["messages"][-1].text.startswith("Summaries: on")
