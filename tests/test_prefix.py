"""The stable part of a prompt comes first: what changes from question to question leaves it as it was."""

from datetime import UTC, datetime
from itertools import takewhile

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from everthread.assembly.assemble import assemble
from everthread.assembly.layout import Layout
from everthread.settings.settings import Settings
from everthread.state.chain import SummaryMessage
from everthread.state.records import Fragment, Memory, Summary

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def chain(question: str) -> list[AnyMessage]:
    summary = Summary(id="s1", content="They spoke of Oslo.", level=1, source_ids=("m0",), covers=1)
    said = [HumanMessage("I like fish.", id="m1"), AIMessage("Noted.", id="m2")]
    return [SummaryMessage.of(summary), *said, HumanMessage(question, id=question)]


def prompt(profile: str, question: str, facts: list[str], memory: str) -> str:
    """The whole prompt as one text."""
    fragment = Fragment(id=memory, role="user", content=memory, created_at=NOW)
    found = Memory(
        fragments=(fragment,), source_type="message", source_ids=(memory,), thread_id="t", similarity=0.8, rank=1,
        created_at=NOW,
    )  # fmt: skip
    messages, *_ = assemble(
        chain(question), [found], [], system_prompt="Be kind.", budget=3000, facts=facts,
        layout=Layout.of(Settings(profile=profile)), thread_id="t",
    )  # fmt: skip
    return "\n".join(f"{message.type}: {message.text}" for message in messages)


def common_start(first: str, second: str) -> str:
    return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


@pytest.mark.parametrize(
    ("profile", "unchanged"),
    [
        ("multi_strategy", ["Be kind.", "Oslo", "I like fish.", "Noted."]),
        ("sliding_summary", ["Be kind.", "Oslo", "I like fish.", "Noted."]),
        ("hybrid", ["Be kind.", "Oslo", "I like fish.", "Noted."]),
        ("archive", ["Be kind.", "Oslo"]),  # seed 003: snippets before the recent messages
        ("layered", ["Be kind."]),  # seed 004: facts before all else
    ],
)
def test_other_facts_and_memories_leave_the_beginning_of_the_prompt_as_it_was(
    profile: str, unchanged: list[str]
) -> None:
    first = prompt(profile, "Where do I live?", ["biography: I live in Porto"], "We moved in May.")
    second = prompt(profile, "And my dog?", ["biography: my dog is called Rex"], "Rex is ill.")
    start = common_start(first, second)
    assert all(text in start for text in unchanged)
    assert all(text in second for text in ("my dog is called Rex", "Rex is ill.", "And my dog?"))
