"""Commands in the chat (seed 003, "User Commands"), answered by the graph: in Python, in streams, in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import run
from conversation import BrokenModel, EchoModel, say, thread, view_in
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from variants import EACH_PROFILE

from everthread import Settings, ThreadOwnershipError, open_graph, open_memory
from everthread.compression.commands import read_command
from everthread.graph.build import ConversationGraph
from everthread.graph.conversation import CompiledConversation
from everthread.state.chain import is_summary
from everthread.storage.archive import Archive


async def asked(graph: CompiledConversation, text: Any, **context: Any) -> str:
    """The answer to a message."""
    return str((await say(graph, text, **context))["messages"][-1].content)


async def test_summary_is_set_up_in_two_steps(graph: CompiledConversation, echo: EchoModel) -> None:
    """Seed 003, "/summary - Setup Flow", with its number 15."""
    context = {"profile": "archive"}
    assert (await asked(graph, "/summary", **context)).startswith("Choose storage format: [Postgres (in use)] [SQLite]")
    assert await asked(graph, "Postgres", **context) == (
        "After how many messages should I compress? Send a number 1-500."
    )
    done = await asked(graph, "15", **context)
    assert done == (
        "External memory configured!\n\n- Storage: Postgres\n- Threshold: 15 messages\n"
        "- Holds in this thread and in your new ones"
    )
    assert "after 15 messages of yours" in await asked(graph, "/summary_status", **context)
    assert echo.prompts == []


async def test_a_threshold_holds_in_its_thread_and_in_new_ones_of_its_user_after_a_restart(
    reopen: Callable[..., open_graph],
) -> None:
    async with reopen(profile="archive") as graph:
        await say(graph, "Begun before.", to="old")
        for text in ("/summary", "Postgres", "2"):
            await say(graph, text)
    async with reopen(profile="archive") as graph:
        for text in ("My dog is called Biscuit.", "Biscuit swims."):
            here, new, old = [await say(graph, text, to=to) for to in ("t1", "t2", "old")]
            other = await say(graph, text, to="t3", user_id="bob")
    assert [is_summary(message) for message in view_in(here)] == [True]
    assert [is_summary(message) for message in view_in(new)] == [True]
    assert [len(view_in(state)) for state in (old, other)] == [6, 4]


async def test_off_holds_in_new_threads_until_on_and_goes_with_all_that_is_kept_of_the_user(
    settings: Settings, embeddings: Embeddings, tmp_path: Path, echo: EchoModel
) -> None:
    for kind in ("postgres", "sqlite", "json"):
        stored = settings if kind == "postgres" else settings.but(database_url=f"{kind}:///{tmp_path}/memory.{kind}")
        async with open_graph(stored, model=echo, embeddings=embeddings) as graph:
            assert "off in this thread and in your new ones" in await asked(graph, "/summary_off")
        async with open_graph(stored, model=echo, embeddings=embeddings) as graph:
            assert "Summaries: off" in await asked(graph, "/summary_status", to="new")
            await asked(graph, "/summary_on", to="new")
            assert "Summaries: on" in await asked(graph, "/summary_status", to="newer")
            assert "Summaries: off" in await asked(graph, "/summary_status")
            await asked(graph, "/summary_off")
        async with open_memory(stored, user_id="ada", embeddings=embeddings) as memory:
            await memory.adelete()
        async with open_graph(stored, model=echo, embeddings=embeddings) as graph:
            assert "Summaries: on" in await asked(graph, "/summary_status", to="newest")


async def test_off_says_what_goes_on_and_how_to_stop_that(graph: CompiledConversation) -> None:
    told = await asked(graph, "/summary_off")
    assert "kept, recalled where it bears on a question and read for facts about you" in told
    assert "EVERTHREAD_MAX_MEMORIES=0" in told
    assert "EVERTHREAD_FACTS=false" in told
    told = await asked(graph, "/summary_off", facts=False, max_memories=0)
    assert "All that is said is kept. /summary_on" in told


@pytest.mark.parametrize("number", ["0", "-3", "501", "99999999999999999999"])
async def test_a_number_that_cannot_be_is_told_and_asked_for_again(graph: CompiledConversation, number: str) -> None:
    for text in ("/summary", "postgres"):
        await say(graph, text, profile="archive")
    answer = await asked(graph, number, profile="archive")
    assert "is not a number of messages between 1 and 500" in answer
    assert answer.endswith("Send a number 1-500.")
    assert "Threshold: 7 messages" in await asked(graph, "7", profile="archive")


async def test_a_number_that_contradicts_the_profile_is_told_and_asked_for_again(graph: CompiledConversation) -> None:
    for text in ("/summary", "postgres"):
        await say(graph, text)
    assert "sum_window is 3 but must not be larger than n_sum, which is 2" in await asked(graph, "2")
    assert "Threshold: 12 messages" in await asked(graph, "12")


async def test_what_does_not_answer_the_set_up_goes_to_the_model(graph: CompiledConversation) -> None:
    await say(graph, "/summary")
    assert await asked(graph, "What is the capital of Peru?") == "You said: What is the capital of Peru?"
    assert await asked(graph, "postgres") == "You said: postgres"
    for text in ("/summary", "postgres", "hello there"):
        answer = await asked(graph, text)
    assert answer == "You said: hello there"
    assert await asked(graph, "15") == "You said: 15"


async def test_another_storage_is_chosen_at_the_start_and_the_set_up_says_so(graph: CompiledConversation) -> None:
    await say(graph, "/summary")
    assert (await asked(graph, "SQLite (recommended)")).startswith("SQLite is chosen where everthread is started")
    assert "Storage: Postgres" in await asked(graph, "20")


async def test_status_tells_what_the_seed_lists(graph: CompiledConversation) -> None:
    for n in range(3):
        await say(graph, f"My remark number {n} about trains.", profile="archive", summary_every_n=2)
    assert await asked(graph, "/summary_status", profile="archive", summary_every_n=2) == "\n".join([
        "- Summaries: on", "- Profile: archive", "- Storage: Postgres", "- Compression: after 2 messages of yours",
        "- Messages since the last summary: 1", "- Messages: 6 kept, 4 of them archived", "- Active summaries: 1",
        "- Highest level reached: 1",
    ])  # fmt: skip


async def test_off_stops_summaries_in_this_thread_and_on_goes_on(
    graph: CompiledConversation, reopen: Callable[..., open_graph]
) -> None:
    assert "off in this thread" in await asked(graph, "/summary_off")
    for n in range(6):
        state = await say(graph, f"Remark {n} about the garden.")
    assert not any(is_summary(message) for message in view_in(state))
    assert len(await reopen().resources.of_user("ada").archive.messages("t1")) == 12
    assert "Summaries: off" in await asked(graph, "/summary_status")
    assert "on in this thread and in your new ones: after 6 messages" in await asked(graph, "/summary_on")
    state = await say(graph, "And now?")
    assert any(is_summary(message) for message in view_in(state))


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_now_summarizes_at_once_under_every_profile(
    graph: CompiledConversation, reopen: Callable[..., open_graph], profile: str
) -> None:
    assert "nothing to summarize" in await asked(graph, "/summary_now", profile=profile)
    for text in ("My dog is called Biscuit.", "Biscuit likes to swim in the lake."):
        await say(graph, text, profile=profile)
    state = await say(graph, "/summary_now", profile=profile)
    assert "messages are summarized now" in state["messages"][-1].content
    assert len(state["after_reply"].summaries) == 1
    assert sum(is_summary(message) for message in view_in(state)) == 1
    archive: Archive = reopen().resources.of_user("ada").archive
    (summary,) = await archive.summaries("t1")
    messages = await archive.messages("t1")
    assert [message.active for message in messages].count(False) == len(summary.source_ids)
    assert len(messages) == 4
    assert (await say(graph, "What is my dog called?", profile=profile))["messages"][-1].type == "ai"


async def test_now_leaves_a_question_that_was_never_answered_as_it_is(reopen: Callable[..., open_graph]) -> None:
    async with reopen(model=BrokenModel(prompts=[]), profile="archive") as graph:
        with pytest.raises(Exception, match="the provider is down"):
            await say(graph, "Do not lose this.")
        state = await say(graph, "/summary_now")
    assert "nothing to summarize" in state["messages"][-1].content
    assert "Do not lose this." in [message.content for message in view_in(state)]


async def test_commands_and_their_answers_are_not_sent_nor_summarized_nor_recalled(
    graph: CompiledConversation, echo: EchoModel, reopen: Callable[..., open_graph]
) -> None:
    for n in range(8):
        await say(graph, "/summary_status")
        await say(graph, f"My favourite train number is {n}.")
    assert not any("summary_status" in str(prompt) or "Compression:" in str(prompt) for prompt in echo.prompts)
    archive = reopen().resources.of_user("ada").archive
    assert not [m.text for m in await archive.messages("t1") if "summary_status" in m.text or "Compression:" in m.text]
    assert not [s.content for s in await archive.summaries("t1") if "summary_status" in s.content]
    state = await say(graph, "/summary_status")
    assert len([message for message in state["messages"] if message.text == "/summary_status"]) == 9
    assert not [message for message in view_in(state) if "summary_status" in message.text]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/summary", "setup"), (" /Summary_Now \n", "now"), ("/summary_on", "on"), ("/summary_off", "off"),
        ("/summary_status", "status"), ("/summary now", None), ("/help", None), ("/", None), ("summary", None),
        ("//summary", None), ("what does /summary do?", None), ("/etc/passwd", None), ("", None), ("15", None),
    ],
)  # fmt: skip
def test_only_our_words_alone_are_commands(text: str, name: str | None) -> None:
    found = read_command(text)
    assert (found.name if found else None) == name


async def test_an_unknown_command_goes_to_the_model(graph: CompiledConversation) -> None:
    assert await asked(graph, "/help me") == "You said: /help me"
    assert await asked(graph, [{"type": "text", "text": "/help"}]) == "You said: /help"


async def test_nothing_else_of_the_turn_runs_and_the_answer_is_in_every_stream(graph: CompiledConversation) -> None:
    await say(graph, "hello")
    for text in ("/summary_status", "/summary_now", "/summary_off"):
        nodes: list[str] = []
        streamed: list[Any] = []
        modes: Any = ["updates", "messages"]
        stream = graph.astream(
            {"messages": [HumanMessage([{"type": "text", "text": text}])]}, thread(), context={"user_id": "ada"},
            stream_mode=modes,
        )  # fmt: skip
        async for mode, part in stream:
            if mode == "updates":
                nodes.extend(part)
            else:
                streamed.append(part)
        assert nodes == ["command"]
        assert [part[1]["langgraph_node"] for part in streamed] == ["command"]
        answer = (await graph.aget_state(thread())).values["messages"][-1].content
        assert streamed[0][0].content == answer


async def test_a_command_in_a_thread_of_another_user_is_refused(settings: Settings, embeddings: Embeddings) -> None:
    async with open_graph(settings, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        await say(graph, "hello", user="ada")
        # As a server runs it: without the check before the graph.
        served = ConversationGraph(graph.resources).compile(checkpointer=graph.checkpointer)  # type: ignore[attr-defined]
        with pytest.raises(ThreadOwnershipError):
            await say(served, "/summary_status", user="bob")


def test_commands_work_when_the_graph_is_called_from_sync_code(settings: Settings, embeddings: Embeddings) -> None:
    with open_graph(settings, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        state = graph.invoke({"messages": [("user", "/summary_status")]}, thread(), context={"user_id": "ada"})
        assert state["messages"][-1].content.startswith("- Summaries: on")


def test_commands_work_in_the_terminal(environment: dict[str, str]) -> None:
    done = run(environment, "chat", "--thread", "x", typed="hello\n/summary_now\n/summary_status\n")
    assert done.returncode == 0, done.stderr
    assert "2 messages are summarized now" in done.stdout
    assert done.stdout.count("Active summaries: 1") == 1


async def test_the_status_counts_the_summaries_of_this_branch_only(graph: CompiledConversation) -> None:
    for n in range(7):
        await say(graph, f"Remark {n} about the garden.", profile="archive", summary_every_n=2)
        if n == 0:
            early = (await graph.aget_state(thread())).config
    assert "Active summaries: 3" in await asked(graph, "/summary_status", profile="archive")
    context = {"user_id": "ada", "profile": "archive", "summary_every_n": 2}
    await graph.ainvoke({"messages": [("user", "Something else.")]}, early, context=context)
    assert "Active summaries: 1" in await asked(graph, "/summary_status", profile="archive")


@pytest.mark.parametrize("text", ["PostgreSQL", "[Postgres (in use)]", "SQLite (recommended)", "json file"])
def test_a_storage_is_known_by_the_names_that_people_give_it(text: str) -> None:
    found = read_command(text, "storage")
    assert found is not None
    assert found.value in text.casefold()


async def test_the_status_tells_of_a_master_summary(graph: CompiledConversation) -> None:
    context = {"profile": "hybrid", "message_threshold": 2, "keep_recent": 1, "max_active_summaries": 1}
    for n, told in enumerate(["Highest level reached: 1", "Highest level reached: 1, and the master summary"]):
        await say(graph, f"Remark {n} about the garden.", **context)
        assert (await asked(graph, "/summary_status", **context)).endswith(told)
