"""Properties of any prompt: the budget, the question, whole exchanges with tools, roles, and the same again."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from chains import memory
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from everthread import Settings
from everthread.assembly.assemble import Assembled, assemble
from everthread.assembly.layout import Layout
from everthread.models.counting import TokenCounter
from everthread.state.chain import SummaryMessage
from everthread.state.messages import clean_text, cleaned, message_text
from everthread.state.records import Summary
from everthread.state.search_records import SearchResult

LAYOUTS = [
    Layout.of(Settings(profile=name)) for name in ("multi_strategy", "sliding_summary", "hybrid", "archive", "layered")
]
IMAGE: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 3000}}
TOOL: Any = {"type": "function", "function": {"name": "f", "description": "Looks. " * 20, "parameters": {}}}

texts = st.one_of(
    st.text(st.characters() | st.characters(categories=["Cs"]) | st.just("\x00"), max_size=80),
    st.builds(lambda text, times: text * times, st.text(min_size=5, max_size=40), st.integers(40, 60)),  # long
    st.sampled_from(
        ["word " * 3000, "我的狗叫饼干。" * 400, "👨‍👩‍👧‍👦🏳️‍🌈" * 200, "QUJD" * 2000, "x = {1: [2]}\n" * 500, "", "  \n"]
    ),
)
contents = st.one_of(
    texts, st.builds(lambda text, n: [{"type": "text", "text": text}, *[IMAGE] * n], texts, st.integers(0, 3))
)
exchanges = st.tuples(
    st.lists(texts, min_size=1, max_size=6), texts, st.dictionaries(st.text(max_size=5), texts, max_size=3)
)
said = st.one_of(
    st.tuples(st.sampled_from(["user", "assistant", "system", "summary", "orphan"]), contents),
    st.tuples(st.just("tools"), exchanges),
)


def exchange(n: int, drawn: Any, answered: int | None = None) -> list[AnyMessage]:
    """A call of several tools with its results, or with so many of them."""
    results, text, args = drawn
    ids = [f"k{n}-{index}" for index in range(len(results))]
    calls = [{"name": "f", "args": args, "id": id_} for id_ in ids]
    kept = list(zip(ids, results, strict=True))[:answered]
    return [
        AIMessage(text, id=f"c{n}", tool_calls=calls),
        *(ToolMessage(result, id=f"r{id_}", tool_call_id=id_) for id_, result in kept),
    ]


def messages_of(n: int, kind: str, drawn: Any) -> list[AnyMessage]:
    if kind == "tools":
        return exchange(n, drawn)
    if kind == "summary":
        text = message_text(HumanMessage(drawn)) or "-"
        return [SummaryMessage.of(Summary(id=f"s{n}", content=text, level=1 + n % 3, source_ids=(f"x{n}",)))]
    made: dict[str, AnyMessage] = {
        "user": HumanMessage(drawn, id=f"u{n}"),
        "assistant": AIMessage(drawn, id=f"a{n}"),
        "system": SystemMessage(message_text(HumanMessage(drawn))[:400], id=f"i{n}"),
        "orphan": ToolMessage(drawn, id=f"o{n}", tool_call_id="gone"),
    }
    return [made[kind]]


@given(
    chain=st.lists(said, max_size=12),
    question=contents.filter(lambda content: bool(clean_text(message_text(HumanMessage(content))).strip())),
    tail=st.lists(exchanges, max_size=2),
    found=st.lists(texts, max_size=4),
    facts=st.lists(texts, max_size=3),
    budget=st.one_of(st.integers(400, 3000), st.integers(3000, 20_000), st.just(1_000_000)),
    layout=st.sampled_from(LAYOUTS),
    factor=st.sampled_from([1.0, 1.37, 2.0]),
    tools=st.integers(0, 1),
)
def test_any_prompt_is_within_budget_whole_valid_and_the_same_again(
    chain: list[Any], question: Any, tail: list[Any], found: list[str], facts: list[str], budget: int, layout: Layout,
    factor: float, tools: int,
) -> None:  # fmt: skip
    before = [message for n, (kind, drawn) in enumerate(chain) for message in messages_of(n, kind, drawn)]
    after = [message for n, drawn in enumerate(tail) for message in exchange(100 + n, drawn)]
    given_ = [cleaned(message) for message in (*before, HumanMessage(question, id="q"), *after)]
    memories = [memory(text, rank, f"u{rank}", "t") for rank, text in enumerate(found, start=1)]
    results = [SearchResult(title=text[:30], url="https://e.org", content=text, engine="e") for text in found]
    counter = TokenCounter(factor=factor)

    def made() -> Assembled:
        return assemble(
            given_, memories, results, system_prompt="Be kind.", budget=budget, facts=facts, tools=[TOOL] * tools,
            counter=counter, layout=layout, thread_id="t",
        )  # fmt: skip

    prompt, report, _ = made()
    assert counter.prompt(prompt) + counter.tools([TOOL] * tools) == report.tokens <= budget
    assert made()[:2] == (prompt, report)
    assert [message.type for message in prompt].count("system") == 1
    assert prompt[0].type == "system"
    assert prompt[1].type == "human"
    assert not any(one.type == other.type in {"human", "ai"} for one, other in pairwise(prompt))
    asked = [call["id"] for message in prompt if isinstance(message, AIMessage) for call in message.tool_calls]
    assert asked == [message.tool_call_id for message in prompt if isinstance(message, ToolMessage)]
    for message in prompt:
        assert message.content or (isinstance(message, AIMessage) and message.tool_calls)
        assert not isinstance(message.content, str) or message.content.strip() or not message.content
    end = "".join(clean_text(message_text(HumanMessage(question))).split())[-8:]
    newest = [message for message in prompt if isinstance(message, HumanMessage)][-1]
    assert end in "".join(message_text(newest).split())
    assert {"system", "question", "recent"} <= {section.name for section in report.sections}


def test_of_many_results_of_parallel_calls_each_is_told_in_short() -> None:
    """Calls that cannot be cut leave the results less; none is left out, for the model would call the tool again."""
    given_ = [HumanMessage("Look.", id="q"), *exchange(1, (["found it " * 600] * 40, "", {"n": "1"}))]
    prompt, report, _ = assemble(given_, [], [], system_prompt="Be kind.", budget=8000)
    assert sum(isinstance(message, ToolMessage) for message in prompt) == 40
    assert report.left_out == "Left out: tools: 1 cut short."


def test_a_call_with_very_many_arguments_keeps_its_result() -> None:
    arguments = {f"name{n}": "value " * 10 for n in range(2000)}
    given_ = [HumanMessage("Look.", id="q"), *exchange(1, (["found it"], "", arguments))]
    prompt, report, _ = assemble(given_, [], [], system_prompt="Be kind.", budget=8000)
    assert prompt[-1].text == "found it"
    assert isinstance(prompt[-2], AIMessage)
    assert 20 < len(prompt[-2].tool_calls[0]["args"]) < 100
    assert report.left_out == "Left out: tools: 1 cut short."


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_budget_is_too_small_to_be_answered_and_reported(layout: Layout) -> None:
    """A provider may say that its model takes very little; the turn then fails for that, and for nothing else."""
    before: list[AnyMessage] = [HumanMessage("hello " * 50, id="1"), AIMessage("yes", id="2")]
    given_ = [*before, HumanMessage("question " * 50 + "end?", id="q")]
    for budget in (1, 5, *range(10, 100, 3)):
        prompt, report, _ = assemble(
            given_,
            [memory("found", 1, "u1", "t")],
            [],
            system_prompt="Be kind. " * 50,
            facts=["fish"],
            budget=budget,
            layout=layout,
        )
        assert report.tokens <= max(budget, 30)
        assert prompt[-1].text.endswith("end?")
        assert "question: 1 cut short" in report.left_out
        assert "did not fit the budget" in report.left_out
