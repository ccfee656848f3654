"""The report of a turn, and `explain`: what happened is said, whatever failed, and for every turn of a thread."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conversation import BrokenModel, EchoModel, FailingEmbeddings, counting_model, say, thread
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from rich.console import Console
from scripted import calls, scripted

from everthread import InputError, ModelError, SearchError, Settings, StorageError, TurnReport, find_report, open_graph
from everthread.cli.explain import as_text
from everthread.graph.build import build_graph
from everthread.graph.conversation import CompiledConversation
from everthread.maintenance import explain
from everthread.state.records import now
from everthread.state.report_records import EXCERPT, Progress, advanced
from everthread.state.search_records import SearchResult
from everthread.text.shorten import one_line


class Engine:
    """A search engine that finds one page, or fails."""

    name = "own"

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def available(self) -> bool:
        return True

    async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
        if self._error is not None:
            raise self._error
        page = "The Danube was at 4.10 m in Vienna this morning, falling slowly. " * 20
        return [SearchResult(title="Water levels", url="https://example.org/danube", content=page, engine="own")]


def report_in(state: Any) -> TurnReport:
    """The report that a state holds as plain data."""
    return TurnReport.model_validate(state["report"])


async def reported(graph: CompiledConversation, text: str, **options: Any) -> TurnReport:
    """The report of one turn."""
    return report_in(await say(graph, text, **options))


def shown(report: TurnReport) -> str:
    """The report as the terminal shows it."""
    console = Console(width=140, record=True, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(as_text(report))
    return captured.get()


async def test_a_turn_leaves_a_report_of_memories_tokens_model_and_times(graph: CompiledConversation) -> None:
    await say(graph, "My dog is called Biscuit and she loves swimming.", to="monday")
    report = await reported(graph, "What is the name of my dog?", to="tuesday")
    assert (report.turn, report.question) == (1, "What is the name of my dog?")
    assert report.hits >= 1
    memory = report.memories[0]
    assert "Biscuit" in memory.excerpt
    assert memory.arms in {"meaning", "words", "meaning and words"}
    assert memory.similarity is not None
    assert len(memory.source_ids) == 2
    sections = {section.name: section for section in report.context.sections}
    assert sections["memories"].items == len(report.memories)
    assert 0 < report.context.tokens <= report.context.budget
    assert report.reply.model
    assert report.after_reply.archived == 2
    assert set(report.nodes) == {
        "keyword_check", "memory_retrieval", "pairing", "context_assembly", "llm_call", "remember",
    }  # fmt: skip
    assert all(spent >= 0 for spent in report.nodes.values())
    assert report.milliseconds >= report.nodes["llm_call"]
    assert report.degraded == ()
    assert report.unfinished is None


async def test_the_report_says_why_the_web_was_not_searched(graph: CompiledConversation) -> None:
    report = await reported(graph, "hello", web_search="off")
    assert not report.search.needed
    assert report.search.decided_by == "setting"
    assert "turned off" in shown(report)


async def test_the_report_says_what_was_searched_for_and_what_was_found(
    settings: Settings, embeddings: Embeddings, echo: EchoModel
) -> None:
    engines = {"own": Engine()}
    async with open_graph(
        settings.but(search_engines=["own"]), model=echo, embeddings=embeddings, engines=engines
    ) as graph:
        report = await reported(graph, "Search the web for the water level in Vienna.", web_search="auto")
    assert report.search.needed
    assert report.search.decided_by == "user"
    assert "water level" in report.search.query
    (result,) = report.search.results
    assert (result.url, result.engine) == ("https://example.org/danube", "own")
    assert len(result.content) <= EXCERPT
    assert report.nodes["web_search"] >= 0
    text = shown(report)
    assert "query:" in text
    assert "https://example.org/danube" in text


async def test_a_search_that_fails_is_told_and_the_turn_goes_on(
    settings: Settings, embeddings: Embeddings, echo: EchoModel
) -> None:
    engines = {"own": Engine(SearchError("own is down"))}
    async with open_graph(
        settings.but(search_engines=["own"]), model=echo, embeddings=embeddings, engines=engines
    ) as graph:
        state = await say(graph, "Search the web for the water level in Vienna.", web_search="auto")
    assert state["messages"][-1].content.startswith("You said")
    assert [sentence for sentence in report_in(state).degraded if "own is down" in sentence]
    assert "own is down" in shown(report_in(state))


async def test_what_is_told_because_all_was_asked_for_is_found_by_its_place(graph: CompiledConversation) -> None:
    for text in ("My dog is called Biscuit.", "The bank is closed until May."):
        await say(graph, text, to="monday")
    report = await reported(graph, "Summarize what we talked about so far.", to="tuesday")
    assert [memory.arms for memory in report.memories] == ["place", "place"]
    assert "place" in shown(report)


async def test_recall_without_the_embedding_model_is_told(settings: Settings, echo: EchoModel) -> None:
    async with open_graph(settings, model=echo, embeddings=FailingEmbeddings()) as graph:
        for text in [
            "My dog is called Biscuit.",
            "The bank is closed.",
            "It rains.",
            "Tea is ready.",
            "Trains are late.",
        ]:
            await say(graph, text, to="monday")
        report = await reported(graph, "Where did my dog Biscuit go?", to="tuesday")
    assert any("no room for the model" in sentence for sentence in report.degraded)
    assert report.memories[0].arms == "words"
    assert report.memories[0].similarity is None


async def test_a_model_that_failed_and_the_one_that_answered_are_told(reopen: Callable[..., open_graph]) -> None:
    first, second = scripted(ValueError("no such model"), name="first"), scripted("I can.", name="second")
    async with reopen(model=first, fallbacks=[second]) as graph:
        report = await reported(graph, "hello")
    assert report.reply.model == "second"
    assert any("'first' failed" in sentence and "no such model" in sentence for sentence in report.degraded)
    assert "asked first" in shown(report)


async def test_the_time_of_tools_is_in_the_report(reopen: Callable[..., open_graph]) -> None:
    @tool
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"rain in {city}"

    model = scripted(calls(("weather", {"city": "Porto"})), "It rains.")
    async with reopen(model=model, tools=[weather]) as graph:
        report = await reported(graph, "How is the weather in Porto?")
    assert report.turn == 1
    assert report.nodes["tools"] > 0
    assert report.reply.tool_rounds == 1


async def test_the_summaries_of_a_turn_are_in_its_report(graph: CompiledConversation) -> None:
    for text in ["I moved to Lisbon in May 2021.", "I work as a nurse.", "My sister Clara lives in Porto."]:
        report = await reported(graph, text)
    (summary,) = report.summaries
    assert report.after_reply.summaries == (summary.id,)
    assert (summary.level, summary.method, len(summary.source_ids)) == (1, "extractive", 3)
    assert report.nodes["summarize"] >= 0
    assert report.turn == 3
    assert "level 1 by extractive" in shown(report)
    assert (await reported(graph, "And now?")).summaries == ()


async def test_a_command_is_a_turn_with_a_report_of_its_own(graph: CompiledConversation) -> None:
    await say(graph, "I work as a nurse.")
    report = await reported(graph, "/summary_status")
    assert (report.turn, report.question, report.reply) == (2, "/summary_status", None)
    assert set(report.nodes) == {"command"}
    assert (await find_report(graph.resources.database, "ada", "t1")).unfinished is None
    assert (await reported(graph, "Go on.")).turn == 3


async def test_a_report_that_cannot_be_kept_does_not_fail_the_turn(
    graph: CompiledConversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any) -> None:
        raise StorageError("The database's disk is full.")

    monkeypatch.setattr(graph.resources.of_user("ada").reports, "keep", full)
    assert (await reported(graph, "hello")).turn == 1


def test_reports_under_sync_calls_are_the_same(settings: Settings, embeddings: Embeddings) -> None:
    with open_graph(settings, model=counting_model(), embeddings=embeddings) as graph:
        for turn in (1, 2):
            graph.invoke({"messages": [("user", "hi")]}, thread(), context={"user_id": "ada"})
            report = report_in(graph.get_state(thread()).values)
            assert report.turn == turn
            assert set(report.nodes) == {
                "keyword_check", "memory_retrieval", "pairing", "context_assembly", "llm_call", "remember",
            }  # fmt: skip


async def test_the_report_of_every_turn_can_be_found_from_either_end(graph: CompiledConversation) -> None:
    for n in (1, 2, 3):
        await say(graph, f"Remark {n}.")
    await say(graph, "Elsewhere.", to="t2")
    for turn, asked in [(1, "Remark 1."), (3, "Remark 3."), (-1, "Remark 3."), (-3, "Remark 1.")]:
        assert (await find_report(graph.resources.database, "ada", "t1", turn)).question == asked
    newest = report_in((await graph.aget_state(thread())).values)
    assert await find_report(graph.resources.database, "ada", "t1") == newest


@pytest.mark.parametrize("turn", [0, 4, -4, 2**40, -(2**40)])
async def test_an_unknown_turn_gets_one_sentence(graph: CompiledConversation, turn: int) -> None:
    for n in (1, 2, 3):
        await say(graph, f"Remark {n}.")
    with pytest.raises(InputError, match=rf"no report of turn {turn} in this thread: its turns are 1 to 3"):
        await find_report(graph.resources.database, "ada", "t1", turn)


async def test_a_thread_that_was_only_imported_has_no_reports(graph: CompiledConversation) -> None:
    await graph.resources.of_user("ada").archive.own_thread("t1", "imported")
    with pytest.raises(InputError, match=r"no report of turn -1 in this thread: no turn of it has one\."):
        await find_report(graph.resources.database, "ada", "t1")


async def test_the_thread_of_another_user_is_as_unknown_as_one_that_is_not_there(graph: CompiledConversation) -> None:
    await say(graph, "my secret", user="ada")
    for user, name in [("bob", "t1"), ("ada", "nowhere")]:
        with pytest.raises(InputError, match=f"There is no thread '{name}'"):
            await find_report(graph.resources.database, user, name)


async def test_a_turn_that_broke_off_is_explained_as_far_as_it_came_and_wholly_once_resumed(
    reopen: Callable[..., open_graph],
) -> None:
    async with reopen() as graph:
        await say(graph, "First.")
    async with reopen(model=BrokenModel(prompts=[])) as graph:
        with pytest.raises(ModelError):
            await say(graph, "Finish this.")
        report = await find_report(graph.resources.database, "ada", "t1")
        assert (report.turn, report.question) == (2, "Finish this.")
        assert "broke off at llm_call and can be resumed: The chat model 'echo' failed" in report.unfinished
        assert "What you said is kept" in report.unfinished
        assert report.reply is None
        assert report.after_reply is None
        assert {"keyword_check", "memory_retrieval", "pairing", "context_assembly"} == set(report.nodes)
        # What a turn has worked out is made again where it is resumed, and not kept.
        assert report.context is None
        assert "at llm_call" in shown(report)
    async with reopen() as graph:
        await graph.ainvoke(None, thread(), context={"user_id": "ada"})
        report = await find_report(graph.resources.database, "ada", "t1")
        assert report == report_in((await graph.aget_state(thread())).values)
    assert (report.turn, report.unfinished) == (2, None)
    assert {"keyword_check", "memory_retrieval", "llm_call", "remember"} <= set(report.nodes)


@pytest.mark.parametrize(
    ("model", "why"),
    [("nonsense", "'nonsense' has no provider"), (None, "the reply was empty")],
    ids=["not there", "says nothing"],
)
@pytest.mark.usefixtures("eager")
async def test_a_summary_that_the_model_should_have_written_is_told(
    reopen: Callable[..., open_graph], model: str | None, why: str
) -> None:
    values = {"summary_model": model, "n_sum": 2, "sum_window": 2}
    summaries = [] if model else ["", ""]
    said = scripted(AIMessage("A long answer about the garden and the pond. " * 10), *summaries, AIMessage("Fine."))
    async with reopen(model=said, **values) as graph:
        await reported(graph, "Tell me about the garden and the pond. " * 10)
        await graph.asettled()
        report = await reported(graph, "And now?")  # of what is written beside the turns the next one tells
    assert [summary.method for summary in report.summaries] == ["extractive"]
    (told,) = report.degraded
    assert told.startswith("A summary is the extractive summarizer's, not the model's: ")
    if model:
        assert why in told
    assert told in " ".join(shown(report).split())


async def test_explain_says_what_was_left_out_and_how_many_rounds_of_tools_there_were(
    reopen: Callable[..., open_graph],
) -> None:
    @tool
    def weather() -> str:
        """The weather."""
        return "rain"

    async with reopen(model=scripted(*["Word. " * 400] * 3, calls(("weather", {})), "Rain."), tools=[weather]) as graph:
        for n in range(3):
            await say(graph, f"Remark {n}: " + "the garden at length " * 60, n_sum=40)
        report = await reported(graph, "And the weather?", n_sum=40, max_context_tokens=1500, max_reply_tokens=200)
    assert report.context.left_out
    text = " ".join(shown(report).split())
    assert report.context.left_out in text
    assert "after 1 round of tool calls" in text


async def test_a_turn_that_broke_off_is_counted_though_it_was_never_resumed(reopen: Callable[..., open_graph]) -> None:
    async with reopen(model=BrokenModel(prompts=[])) as graph:
        with pytest.raises(ModelError):
            await say(graph, "Lost.")
    async with reopen() as graph:
        assert (await reported(graph, "Again.")).turn == 2
        with pytest.raises(InputError, match="no report of turn 1 "):
            await find_report(graph.resources.database, "ada", "t1", 1)


async def test_old_reports_outlive_the_pruning_of_checkpoints(graph: CompiledConversation) -> None:
    for n in (1, 2):
        await say(graph, f"Remark {n}.")
    await graph.checkpointer.aprune(["t1"])
    assert (await find_report(graph.resources.database, "ada", "t1", 1)).question == "Remark 1."


async def test_a_report_of_another_version_gets_one_sentence(graph: CompiledConversation) -> None:
    await say(graph, "hello")

    async def change(connection: Any) -> None:
        await connection.execute("""UPDATE turn_reports SET report = report || '{"colour": "red"}'""")

    await graph.resources.database.run(change)
    with pytest.raises(StorageError, match="The report of turn 1 cannot be read: it is of another version"):
        await find_report(graph.resources.database, "ada", "t1", 1)


async def test_a_long_question_is_quoted_by_its_beginning_only(graph: CompiledConversation) -> None:
    report = await reported(graph, "x" * 1_000_000)
    assert len(report.question) == EXCERPT
    assert len(report.model_dump_json()) < 10_000


async def test_nothing_in_a_report_can_steer_the_terminal(graph: CompiledConversation) -> None:
    text = shown(await reported(graph, "look: \x1b[2J\x1b]0;owned\x07 [bold]this[/bold] \x9b31m"))
    assert not {"\x1b", "\x07", "\x9b"} & set(text)
    assert "[bold]this[/bold]" in text


async def test_a_report_is_json_and_comes_back_the_same(graph: CompiledConversation) -> None:
    report = await reported(graph, "你好 \ud83d مرحبا")
    assert TurnReport.model_validate_json(report.model_dump_json()) == report
    assert json.loads(report.model_dump_json())["turn"] == 1


async def test_the_report_of_a_turn_does_not_grow_with_its_thread(graph: CompiledConversation) -> None:
    sizes = [len((await reported(graph, f"Remark {n} about the garden.")).model_dump_json()) for n in range(14)]
    assert max(sizes[-3:]) < 10_000


_progress = st.builds(
    Progress,
    question_id=st.sampled_from(["a", "b"]),
    turn=st.integers(1, 3),
    started_at=st.just(now()),
    milliseconds=st.dictionaries(st.sampled_from(["x", "y", "z"]), st.floats(0, 1e6).map(lambda n: round(n, 1))),
)


@given(st.one_of(_progress, st.none(), st.text()), st.lists(_progress, max_size=6))
def test_nodes_side_by_side_add_up_in_any_order_and_anything_in_the_channel_is_replaced(
    left: Any, writes: list[Progress]
) -> None:
    """A reducer that raised would poison the thread."""
    value = left
    for write in writes:
        value = advanced(value, write)
    if writes:
        assert json.loads(json.dumps(value)) == value
        assert isinstance(value, dict)
        assert Progress.read(value).question_id == writes[-1].question_id
    same = [write for write in writes if write.question_id == "a"]
    for order in (same, same[::-1]):
        total: Any = None
        for write in order:
            total = advanced(total, write)
        if same:
            assert set(Progress.read(total).milliseconds) == {node for write in same for node in write.milliseconds}


@given(st.text(max_size=2000))
def test_an_excerpt_is_short_and_on_one_line(text: str) -> None:
    cut = one_line(text, EXCERPT)
    assert len(cut) <= EXCERPT
    assert "\n" not in cut
    assert cut.removesuffix("…") in " ".join(text.split())


def test_an_explanation_lists_every_node_of_the_graph() -> None:
    assert set(explain._NODES) == set(build_graph(Settings()).nodes)
