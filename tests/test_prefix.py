"""The stable part of a prompt comes first: what changes from question to question leaves it as it was."""

from datetime import UTC, datetime
from itertools import takewhile

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from variants import EACH_PROFILE

from everthread.assembly.assemble import assemble
from everthread.assembly.layout import Layout
from everthread.settings.settings import Settings
from everthread.state.chain import SummaryMessage
from everthread.state.records import Fragment, Memory, Summary

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def chain(question: str, summary: str = "They spoke of Oslo.") -> list[AnyMessage]:
    told = Summary(id="s1", content=summary, level=1, source_ids=("m0",), covers=1)
    said = [HumanMessage("I like fish.", id="m1"), AIMessage("Noted.", id="m2")]
    return [SummaryMessage.of(told), *said, HumanMessage(question, id=question)]


def prompt(
    profile: str, question: str, *, facts: list[str], news: list[str], memory: str, summary: str = "They spoke of Oslo."
) -> str:
    """The whole prompt as one text."""
    fragment = Fragment(id=memory, role="user", content=memory, created_at=NOW)
    found = Memory(
        fragments=(fragment,), source_type="message", source_ids=(memory,), thread_id="t", similarity=0.8, rank=1,
        created_at=NOW,
    )  # fmt: skip
    messages, *_ = assemble(
        chain(question, summary), [found], [], system_prompt="Be kind.", budget=3000, facts=facts, news=news,
        layout=Layout.of(Settings(profile=profile)), thread_id="t",
    )  # fmt: skip
    return "\n".join(f"{message.type}: {message.text}" for message in messages)


def common_start(first: str, second: str) -> str:
    return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


@pytest.mark.parametrize("profile", EACH_PROFILE)
def test_other_memories_and_news_leave_all_before_the_question_as_it_was(profile: str) -> None:
    standing = ["biography: I live in Porto"]
    first = prompt(profile, "Where do I live?", facts=standing, news=["goal: a boat"], memory="We moved in May.")
    second = prompt(profile, "And my dog?", facts=standing, news=["biography: my dog is Rex"], memory="Rex is ill.")
    start = common_start(first, second)
    assert all(text in start for text in ("Be kind.", "Oslo", "I live in Porto", "I like fish.", "Noted."))
    assert all(text in second for text in ("my dog is Rex", "Rex is ill."))
    assert second.endswith("And my dog?")


# seed 004: facts before all else in `layered`
@pytest.mark.parametrize("profile", [one for one in EACH_PROFILE if one.values != ("layered",)])
def test_other_facts_leave_the_summaries_as_they_were(profile: str) -> None:
    first = prompt(profile, "Well?", facts=["biography: I live in Porto"], news=[], memory="We moved in May.")
    second = prompt(profile, "Well?", facts=["biography: my dog is Rex"], news=[], memory="We moved in May.")
    assert "They spoke of Oslo." in common_start(first, second)
    assert "my dog is Rex" in second


def test_a_summary_that_is_added_leaves_those_before_it_as_they_were() -> None:
    first, second = (
        prompt("archive", "Well?", facts=[], news=[], memory="We moved in May.", summary=f"They spoke of Oslo.{more}")
        for more in ("", " Then of Bergen.")
    )
    assert "They spoke of Oslo." in common_start(first, second)
