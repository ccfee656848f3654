"""Pairing: what comes with a hit: whole tool exchanges, passages of long messages, sources of summaries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as relaxed
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import AIMessage, AnyMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from everthread import Fragment, Memory, Recall, Settings, Summary
from everthread.assembly.assemble import assemble
from everthread.memory.pairing import candidates, paired, told
from everthread.nodes.context_assembly import context_assembly
from everthread.nodes.memory_retrieval import memory_retrieval
from everthread.nodes.pairing import pairing
from everthread.runtime.memories import memories_of
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.state.records import Hit, now
from everthread.text.passages import excerpt
from everthread.text.tokens import estimate_tokens


@pytest.fixture
def embeddings(real_embeddings: Embeddings) -> Embeddings:
    """These tests are about meaning."""
    return real_embeddings


@pytest.fixture
async def resources(settings: Settings) -> AsyncIterator[Resources]:
    made = Resources(settings.but(user_id="ada"), embeddings=DeterministicFakeEmbedding(size=8))
    yield made
    await made.close()


def call(id_: str, **args: Any) -> Any:
    return {"name": "weather", "args": args, "id": id_, "type": "tool_call"}


EXCHANGE: list[AnyMessage] = [
    SystemMessage("Be brief.", id="system"),
    HumanMessage("Is it warm in Oslo and Rome?", id="query"),
    AIMessage("Let me look.", id="first", tool_calls=[call("c1", city="Oslo")]),
    ToolMessage("-4 degrees", id="oslo", tool_call_id="c1"),
    AIMessage("", id="second", tool_calls=[call("c2", city="Rome")]),
    ToolMessage("17 degrees", id="rome", tool_call_id="c2"),
    AIMessage("   ", id="blank"),
    AIMessage("Cold in Oslo, warm in Rome.", id="reply"),
    HumanMessage("Thanks", id="thanks"),
    AIMessage("You are welcome.", id="welcome"),
]


def hit(id_: str, rank: int = 1, **more: Any) -> Hit:
    return Hit(source_type="message", source_id=id_, thread_id="t", role="user", rank=rank, created_at=now(), **more)


async def bring(resources: Resources, *hits: Hit, question: str = "weather?", **settings: Any) -> tuple[Memory, ...]:
    turn = Turn(resources, resources.settings.but(**settings), {"configurable": {"thread_id": "now"}})
    state: Any = {"messages": [HumanMessage(question, id="asked")], "recall": Recall(hits=hits)}
    recall = (await pairing(state, turn))["recall"]
    assert recall.error is None
    return tuple(recall.memories)


def ids(memory: Memory) -> list[str]:
    return [fragment.id for fragment in memory.fragments]


@pytest.mark.parametrize(
    ("found", "brought"),
    [
        ("query", ["query", "reply"]),
        ("reply", ["query", "reply"]),
        ("thanks", ["thanks", "welcome"]),
        ("oslo", ["query", "first", "oslo", "second", "rome", "reply"]),
        ("second", ["query", "first", "oslo", "second", "rome", "reply"]),
    ],
)
async def test_a_hit_brings_its_counterpart_and_a_tool_result_the_whole_exchange(
    resources: Resources, found: str, brought: list[str]
) -> None:
    await resources.of_user("ada").archive.add_messages("t", EXCHANGE)
    (memory,) = await bring(resources, hit(found))
    assert ids(memory) == list(memory.source_ids) == brought
    if "first" in brought:
        assert memory.fragments[1].content == "Let me look.\n[calls weather(city=Oslo)]"
        assert memory.fragments[2].content == "-4 degrees"
        assert memory.fragments[3].content == "[calls weather(city=Rome)]"


async def test_a_second_hit_in_an_exchange_adds_to_its_memory_in_the_order_said(resources: Resources) -> None:
    await resources.of_user("ada").archive.add_messages("t", EXCHANGE)
    found = (hit("reply", 1, similarity=0.9, vector_rank=1), hit("welcome", 2), hit("rome", 3, keyword_rank=1))
    first, second = await bring(resources, *found)
    assert ids(first) == ["query", "first", "oslo", "second", "rome", "reply"]
    assert (first.rank, first.similarity, first.vector_rank, first.keyword_rank) == (1, 0.9, 1, None)
    assert ids(second) == ["thanks", "welcome"]


async def test_a_memory_of_several_hits_keeps_the_time_of_each_message(resources: Resources) -> None:
    """Report hindsight #3500: the dates of the sources were lost when they were merged."""
    await resources.of_user("ada").archive.add_messages("t", EXCHANGE)
    times = {message.id: message.created_at for message in await resources.of_user("ada").archive.messages("t")}
    (memory,) = await bring(resources, hit("reply", 1), hit("rome", 2))
    assert {fragment.id: fragment.created_at for fragment in memory.fragments} == {
        id_: times[id_] for id_ in memory.source_ids
    }
    assert memory.created_at == times["query"]


async def test_an_exchange_cut_off_before_its_reply_brings_what_there_is(resources: Resources) -> None:
    await resources.of_user("ada").archive.add_messages("t", EXCHANGE[1:4])
    assert ids((await bring(resources, hit("oslo")))[0]) == ["query", "first", "oslo"]
    assert ids((await bring(resources, hit("query")))[0]) == ["query"]
    await resources.of_user("ada").archive.add_messages(
        "t", [HumanMessage("Never mind.", id="new"), AIMessage("Ok.", id="ok")]
    )
    assert ids((await bring(resources, hit("oslo")))[0]) == ["query", "first", "oslo"]


async def test_an_agents_reply_is_a_reply_and_an_observers_remark_stands_alone(resources: Resources) -> None:
    said = [HumanMessage("Help!", id="u"), ChatMessage("She is upset.", id="o", role="observer"),
            ChatMessage("I am here.", id="a", role="agent")]  # fmt: skip
    await resources.of_user("ada").archive.add_messages("t", said)
    assert [ids((await bring(resources, hit(id_)))[0]) for id_ in "uao"] == [["u", "a"], ["u", "a"], ["o"]]


async def test_a_long_tool_result_is_cut_to_what_bears_on_the_question(resources: Resources) -> None:
    lines = [f"station {n}: {n % 7} degrees" for n in range(20_000)]
    lines[13_000] = "station Zugspitze: minus twenty"
    said = [HumanMessage("All stations?", id="q"), AIMessage("", id="c", tool_calls=[call("c1")]),
            ToolMessage("\n".join(lines), id="r", tool_call_id="c1"), AIMessage("Here.", id="a")]  # fmt: skip
    await resources.of_user("ada").archive.add_messages("t", said)
    question = "How cold was the Zugspitze?"
    found = await bring(resources, hit("r"), question=question)
    (memory,) = assemble([HumanMessage(question)], found, [], system_prompt="x", budget=7000).memories
    assert "Zugspitze: minus twenty" in memory.fragments[2].content
    assert sum(estimate_tokens(fragment.content) for fragment in memory.fragments) < 700


async def test_the_end_of_a_long_message_is_found_and_shown(settings: Settings, embeddings: Embeddings) -> None:
    """Report marm-memory 2.13: details near the end of long memories were out of reach."""
    resources = Resources(settings.but(user_id="ada"), embeddings=embeddings)
    filler = " ".join(f"The committee met on day {n} and discussed the budget of the town." for n in range(400))
    said = [
        HumanMessage(f"{filler} At last our neighbour bought an accordion.", id="long"),
        AIMessage("I see.", id="a"),
    ]
    await resources.of_user("ada").archive.add_messages("t", said)
    turn = Turn(resources, resources.settings, {"configurable": {"thread_id": "now"}})
    state: Any = {"messages": [HumanMessage("Which musical instrument was purchased?", id="q")]}
    await resources.of_user("ada").vectors.embed_pending(timeout=60)
    state |= await memory_retrieval(state, turn)
    state |= await pairing(state, turn)
    state |= await context_assembly(state, turn)
    memory = state["recall"].memories[0]
    assert ids(memory) == ["long", "a"]
    assert "bought an accordion" in memory.fragments[0].content
    assert estimate_tokens(memory.fragments[0].content) <= turn.settings.memory_tokens
    await resources.close()


async def summarized(resources: Resources) -> None:
    said = [
        "My locker has the number QX-4471.", "The bus was late.", "I had soup.", "My locker is green.", "It rained.",
    ]  # fmt: skip
    messages = [HumanMessage(text, id=f"m{n}") for n, text in enumerate(said)]
    await resources.of_user("ada").archive.add_messages("t", messages)
    for id_, level, sources in [("s", 1, ("m0", "m1", "m2")), ("r", 1, ("m3", "m4")), ("up", 2, ("s", "r"))]:
        summary = Summary(id=id_, content=f"About {id_}.", level=level, source_ids=sources)
        await resources.of_user("ada").archive.add_summary("t", summary)


def summary_hit(id_: str, rank: int = 1) -> Hit:
    return hit(id_, rank).model_copy(update={"source_type": "summary"})


async def test_a_summary_stands_alone_and_brings_the_sources_that_bear_on_the_question(resources: Resources) -> None:
    await summarized(resources)
    question = "Which locker is mine?"
    (memory,) = await bring(resources, summary_hit("up"), question=question)
    assert ids(memory) == ["up", "m0", "m3"]
    assert memory.source_type == "summary"
    assert memory.fragments[0].content == "About up."
    assert ids((await bring(resources, summary_hit("up"), question="Anything else?"))[0]) == ["up"]
    (memory,) = await bring(resources, summary_hit("up"), question=question, memory_tokens=20)
    assert len(memory.fragments) == 2


async def test_a_source_that_is_a_memory_already_is_not_told_twice(resources: Resources) -> None:
    await summarized(resources)
    memories = await bring(resources, hit("m0", 1), summary_hit("up"), question="Which locker is mine?")
    assert [ids(memory) for memory in memories] == [["m0"], ["up", "m3"]]


async def test_a_summary_that_says_word_for_word_what_was_said_is_told_of_a_whole_alone(
    stored: Settings, embeddings: Embeddings
) -> None:
    resources = Resources(stored.but(user_id="ada"), embeddings=embeddings)
    await summarized(resources)
    told = {"extractive": set[str](), "model": set[str]()}
    for method, at in told.items():
        await resources.of_user("ada").archive.add_summary(
            "t", Summary(id=method, content="The bus was late.", level=1, source_ids=("m1",), method=method)
        )
        for question in ("Was the bus late?", "Summarize what I told you.", "In what order did it happen?"):
            turn = Turn(resources, resources.settings, {"configurable": {"thread_id": "now"}})
            recall = Recall(hits=(summary_hit(method, 1), hit("m0", 2)), least=0.004)
            state: Any = {"messages": [HumanMessage(question, id="asked")], "recall": recall}
            memories = (await pairing(state, turn))["recall"].memories
            assert "m0" in {id_ for memory in memories for id_ in memory.source_ids}
            at |= {question for memory in memories if method in memory.source_ids}
    assert told["model"] - told["extractive"] == {"Was the bus late?"}
    assert len(told["extractive"]) == 2
    await resources.close()


async def test_a_summary_is_told_of_whose_messages_not_all_are_left(stored: Settings, embeddings: Embeddings) -> None:
    """As an import may leave it."""
    resources = Resources(stored.but(user_id="ada"), embeddings=embeddings)
    await summarized(resources)
    for id_, sources in {"left": ("m1", "gone"), "whole": ("m1", "m2"), "above": ("left", "whole")}.items():
        extract = Summary(id=id_, content="The bus was late, and full.", level=1, source_ids=sources)
        await resources.of_user("ada").archive.add_summary("t", extract)
    turn = Turn(resources, resources.settings, {"configurable": {"thread_id": "now"}})
    hits = (summary_hit("whole", 1), summary_hit("left", 2), summary_hit("above", 3))
    state: Any = {"messages": [HumanMessage("Was the bus full?", id="asked")], "recall": Recall(hits=hits, least=0.004)}
    memories = (await pairing(state, turn))["recall"].memories
    assert [memory.source_ids[0] for memory in memories] == ["left"]
    await resources.close()


async def test_a_summary_bears_the_days_of_which_it_tells_whether_it_stands_in_the_chain_or_not(
    resources: Resources,
) -> None:
    days = [datetime(2024, 3, day, 9, tzinfo=UTC) for day in (4, 5)]
    said = [
        HumanMessage(f"It rained, {n}.", id=f"m{n}", additional_kwargs={"created_at": day.isoformat()})
        for n, day in enumerate(days)
    ]
    await resources.of_user("ada").archive.add_messages("t", said)
    summary = Summary(id="s", content="It rained twice.", level=1, source_ids=("m0", "m1"), method="model")
    await resources.of_user("ada").archive.add_summary("t", summary)
    for chain in (set(), {("t", "s")}):
        turn = Turn(resources, resources.settings, {"configurable": {"thread_id": "t"}})
        (memory,) = await memories_of(Recall(hits=(summary_hit("s"),)), "Did it rain?", turn, turn.user, chain)
        assert (memory.created_at, memory.fragments[0].created_at) == tuple(days)


async def test_of_a_summary_of_a_whole_life_the_newest_sources_are_looked_at(resources: Resources) -> None:
    """A summary that was made again from the one before it, time after time, stands on all that was ever said."""
    told = [HumanMessage(f"My locker number {n} is green.", id=f"m{n}") for n in range(600)]
    await resources.of_user("ada").archive.add_messages("t", told)
    for n in range(300):
        before = (f"s{n - 1}",) if n else ()
        summary = Summary(id=f"s{n}", content="Lockers.", level=1, source_ids=(*before, f"m{2 * n}", f"m{2 * n + 1}"))
        await resources.of_user("ada").archive.add_summary("t", summary)
    (newest,) = await bring(resources, summary_hit("s299"), question="What about locker number 599?")
    assert "m599" in ids(newest)
    (oldest,) = await bring(resources, summary_hit("s299"), question="What about locker number 0?")
    assert "m0" not in ids(oldest)


texts = st.text(max_size=400) | st.text("ab 你😀\n", max_size=6000)


@relaxed(deadline=None)
@given(texts, st.text(max_size=40), st.integers(20, 200), texts)
def test_an_excerpt_is_within_its_limit_and_a_short_text_is_whole(
    text: str, question: str, limit: int, passage: str
) -> None:
    cut = excerpt(text, question, limit, near=passage)
    assert estimate_tokens(cut) <= limit
    assert cut == text or estimate_tokens(text) > limit


@pytest.mark.parametrize(
    ("filler", "passage", "question"),
    [
        ("The bus was late again. ", "My accordion is in the cellar.", "Where is the accordion?"),
        ("公共汽车又来晚了。", "我的手风琴在地下室里。", "手风琴在哪里？"),
        ("Otobüs yine geç kaldı. ", "Akordeonum bodrumda duruyor.", "Akordeonum nerede duruyor?"),
        ("تأخرت الحافلة مرة أخرى. ", "الأكورديون في القبو.", "أين الأكورديون؟"),
    ],
)
def test_in_any_script_the_passage_with_most_words_of_the_question_is_shown(
    filler: str, passage: str, question: str
) -> None:
    text = filler * 300 + passage + filler * 300
    cut = excerpt(text, question, 120)
    assert passage in cut
    assert estimate_tokens(cut) <= 120


@relaxed(deadline=None)
@given(st.text("xyz ", min_size=3000, max_size=6000), st.integers(0, 3000))
def test_the_words_of_the_question_are_in_the_excerpt(text: str, at: int) -> None:
    text = f"{text[:at]} the accordion {text[at:]}"
    assert "accordion" in excerpt(text, "accordion?", 200)


fragments = st.lists(st.integers(1, 12), min_size=1, max_size=5, unique=True)


@given(st.lists(fragments, max_size=12))
def test_no_fragment_comes_twice_and_each_memory_is_in_order(drawn: list[list[int]]) -> None:
    exchanges = {
        ("t", str(parts[0])): tuple(Fragment(id=str(n), role="user", content="x", seq=n) for n in sorted(parts))
        for parts in drawn
    }
    hits = [hit(str(parts[0]), rank) for rank, parts in enumerate(drawn, start=1)]
    memories = paired(hits, exchanges)
    told = [int(fragment.id) for memory in memories for fragment in memory.fragments]
    assert len(told) == len(set(told))
    assert {int(f.id) for parts in exchanges.values() for f in parts} == set(told)
    assert all(ids(memory) == sorted(ids(memory), key=int) for memory in memories)
    assert [memory.rank for memory in memories] == sorted(memory.rank for memory in memories)


def test_behind_the_first_memory_stands_what_was_found_alone_and_that_of_one_day_together() -> None:
    def fragment(n: int) -> Fragment:
        said_at = datetime(2024, 3, 1 + n // 20, 10, n, tzinfo=UTC)
        return Fragment(id=str(n), role="user", content="x", seq=n, created_at=said_at)

    exchanges = {("t", str(n)): (fragment(n - n % 2), fragment(n - n % 2 + 1)) for n in range(60)}
    hits = [hit(str(n), rank) for rank, n in enumerate((0, 20, 41, 44, 28, 3), start=1)]
    kept = told(paired(hits, exchanges), hits, set())
    assert [ids(memory) for memory in kept] == [["0", "1", "3"], ["20", "28"], ["41", "44"]]
    in_chain = {("t", "0"), ("t", "1")}
    assert ids(told(paired(hits, exchanges), hits, in_chain)[1]) == ["20", "21", "28"]


def test_memories_in_the_chain_do_not_count_among_those_that_are_wanted() -> None:
    exchanges = {("t", f"m{n}"): (Fragment(id=f"m{n}", role="user", content="x", seq=n),) for n in range(8)}
    memories = paired([hit(f"m{n}", n + 1) for n in range(8)], exchanges)
    chain = {("t", f"m{n}") for n in (0, 2, 3, 7)}
    assert [memory.source_ids[0] for memory in candidates(memories, chain, 2)] == ["m0", "m1", "m2", "m3", "m4"]
    assert candidates(memories, chain, 0) == []


def test_a_reply_that_was_found_behind_the_first_memories_comes_with_the_short_question_before_it() -> None:
    def exchange(n: int, asked: str) -> tuple[Fragment, Fragment]:
        said_at = datetime(2024, 3, 1 + n, 10, tzinfo=UTC)
        return (
            Fragment(id=f"u{n}", role="user", content=asked, seq=2 * n, created_at=said_at),
            Fragment(id=f"a{n}", role="assistant", content="Advice.", seq=2 * n + 1, created_at=said_at),
        )

    exchanges = {("t", f"a{n}"): exchange(n, "word " * 300 if n == 6 else "I sold the boat.") for n in range(7)}
    hits = [hit(f"a{n}", n + 1) for n in range(7)]
    assert [ids(memory) for memory in told(paired(hits, exchanges), hits, set())[5:]] == [["u5", "a5"], ["a6"]]
