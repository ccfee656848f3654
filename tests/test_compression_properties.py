"""Whatever is said, under any profile and thresholds: nothing is lost, no call is parted, the question stays."""

from __future__ import annotations

from typing import Any

import pytest
from chains import Thread, call, parted_calls, result
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from odd_conversations import conversations
from variants import costly

from bench.compressed import below
from everthread.compression.engine import forced_batch
from everthread.settings.settings import Settings
from everthread.state.chain import message_ids, removed_ids, summary_ids
from everthread.state.messages import is_empty

PROFILES = ["multi_strategy", "sliding_summary", "hybrid", "archive", "layered"]

IMAGE = [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
KINDS = ["user", "assistant", "tools", "image", "word", "empty", "instruction", "lost call"]


def said(n: int, kind: str) -> list[AnyMessage]:
    """The messages of one kind, with ids of their own."""
    if kind == "tools":
        return [call(f"c{n}", f"x{n}", f"y{n}"), result(f"r{n}", f"x{n}"), result(f"s{n}", f"y{n}")]
    return {
        "user": [HumanMessage(f"question {n}", id=f"m{n}")],
        "assistant": [AIMessage(f"answer {n}", id=f"m{n}")],
        "image": [HumanMessage(IMAGE, id=f"m{n}")],
        "word": [HumanMessage("ok", id=f"m{n}")],
        "empty": [AIMessage("", id=f"m{n}")],
        "instruction": [SystemMessage("be brief", id=f"m{n}")],
        "lost call": [call(f"m{n}", f"z{n}")],
    }[kind]


@st.composite
def any_settings(draw: st.DrawFn) -> Settings:
    """Settings of any profile with thresholds that agree."""
    profile = draw(st.sampled_from(PROFILES))
    n_sum = draw(st.integers(2, 12))
    threshold = draw(st.integers(2, 12))
    values: dict[str, Any] = {
        "n_sum": n_sum,
        "sum_window": draw(st.integers(1, n_sum)),
        "n_sum_sum": draw(st.integers(2, 4)),
        "max_sum_lvl": draw(st.integers(1, 3)),
        "summary_window": draw(st.sampled_from(["last", "oldest", "topic"])),
        "message_threshold": threshold,
        "keep_recent": draw(st.integers(0, threshold - 1)),
        "token_threshold": draw(st.sampled_from([100, 1500, 8000])),
        "summary_every_n": draw(st.integers(1, 6)),
        "max_level_summaries": draw(st.integers(1, 3)),
        "max_active_summaries": draw(st.integers(3, 6)),
    }
    return Settings(profile=profile, **values)


def check(thread: Thread, spoken: list[AnyMessage]) -> None:
    """Nothing is lost, no call is parted, the newest question stands as it was asked, and instructions stand once."""
    newest = {message.text: message.id for message in spoken if isinstance(message, SystemMessage)}
    once = [m for m in spoken if not isinstance(m, SystemMessage) or newest[m.text] == m.id]
    assert thread.reached() >= {str(message.id) for message in once if not is_empty(message)}
    assert set(parted_calls(thread.view)) <= set(parted_calls(spoken))
    ids = [str(message.id) for message in thread.view]
    assert len(ids) == len(set(ids))
    indices = [n for n, message in enumerate(spoken) if isinstance(message, HumanMessage) and not is_empty(message)]
    answered = any(isinstance(m, AIMessage) and not is_empty(m) for m in spoken[indices[-1] :]) if indices else True
    if not answered:
        assert spoken[indices[-1]].id in ids


@given(st.lists(st.sampled_from(KINDS), max_size=60), any_settings())
def test_nothing_is_lost_under_any_profile(kinds: list[str], settings: Settings) -> None:
    thread = Thread(settings)
    spoken: list[AnyMessage] = []
    for n, kind in enumerate(kinds):
        messages = said(n, kind)
        spoken += messages
        thread.one_by_one(messages)
        check(thread, spoken)


@given(
    st.lists(st.tuples(st.lists(st.sampled_from(KINDS), max_size=12), any_settings(), st.booleans()), max_size=6),
)
def test_a_profile_that_changes_in_the_middle_of_a_thread_takes_the_chain_over(
    parts: list[tuple[list[str], Settings, bool]],
) -> None:
    thread = Thread()
    spoken: list[AnyMessage] = []
    n = 0
    for kinds, settings, now in parts:
        thread.settings = settings
        for kind in kinds:
            n += 1
            messages = said(n, kind)
            spoken += messages
            thread.say(*messages)
            check(thread, spoken)
        if now and (batch := forced_batch(thread.view, settings)):
            thread.summarize(batch)
            thread.say()
            check(thread, spoken)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 20)), max_size=40), any_settings())
def test_what_is_removed_from_the_conversation_leaves_the_chain_and_nothing_else_does(
    steps: list[tuple[str, int]], settings: Settings
) -> None:
    """Each step says something, and sometimes removes a message that was said before."""
    thread = Thread(settings)
    removed: set[str] = set()
    for n, (kind, pick) in enumerate(steps):
        thread.say(*said(n, kind))
        if pick < len(thread.said):
            gone = str(thread.said.pop(pick).id)
            removed.add(gone)
            summaries = summary_ids(thread.chain)
            assert gone in removed_ids(thread.chain, thread.said)
            thread.say()
            assert gone not in message_ids(thread.chain)
            assert set(below(summaries, thread.made.values())) <= thread.reached()
        spoken = [message for message in thread.said if not isinstance(message, SystemMessage)]
        assert thread.reached() >= {str(message.id) for message in spoken if not is_empty(message)}
        assert not removed & {str(message.id) for message in thread.view}


@costly
@given(any_settings(), st.integers(1, 3))
def test_the_chain_stays_bounded_however_long_the_conversation(settings: Settings, replies: int) -> None:
    thread = Thread(settings)
    for n in range(150):
        thread.say(HumanMessage("q", id=f"q{n}"), *(AIMessage("a", id=f"a{n}.{k}") for k in range(replies)))
    limits = (settings.n_sum, settings.message_threshold + settings.keep_recent, settings.summary_every_n)
    most_messages = max(limits) * (replies + 1) + 20
    most_summaries = (settings.n_sum_sum + 1) * settings.max_sum_lvl + settings.sum_window + 12
    assert len(thread.view) <= most_messages + most_summaries


@pytest.mark.parametrize("profile", PROFILES)
def test_no_odd_conversation_loses_a_message_or_parts_a_call(profile: str) -> None:
    for _, messages in conversations():
        thread = Thread(Settings(profile=profile))
        for n, message in enumerate(messages, start=1):
            thread.say(message)
            check(thread, messages[:n])
