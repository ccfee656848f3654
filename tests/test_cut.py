"""The cut: the newest messages stand as they were said, and from turn to turn a prompt only grows at its end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from chains import Thread
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from variants import EACH_PROFILE, costly

from everthread.assembly.assemble import assemble
from everthread.assembly.cut import Cut, cut
from everthread.assembly.layout import Layout
from everthread.assembly.marks import Marks
from everthread.models.counting import TokenCounter
from everthread.runtime.prompt import token_budget
from everthread.settings.settings import Settings
from everthread.state.chain import ChainView, is_summary, summary_of
from everthread.state.records import Place
from everthread.text.tokens import count_message_tokens

BEGIN = datetime(2026, 5, 1, tzinfo=UTC)


class Talk:
    """A conversation that is compressed after each turn, and what its prompts show."""

    def __init__(self, profile: str, **values: Any) -> None:
        self.settings = Settings(profile=profile, **values)
        self.thread = Thread(self.settings)

    def shown(self, budget: int, question: str = "And?", before: Cut | None = None, found: int = 0) -> Cut:
        """What the prompt for a question shows, after the one before it, beside what was found for it."""
        view = self.thread.view
        said = {str(message.id): message for message in self.thread.said}
        places = {id_: Place(n, BEGIN + timedelta(minutes=n)) for n, id_ in enumerate(said, start=1)}
        marks = Marks.of(Layout.of(self.settings), budget, 0, found)
        asked = ChainView([*view, HumanMessage(question, id="q")], view.kept)
        begins = before.begins if before is not None else ()
        return cut(asked, {**self.thread.made, **said}, places, marks, before=begins)

    def say(self, *messages: AnyMessage) -> None:
        """One turn."""
        self.thread.say(*messages)


def turn(n: int, words: int = 20) -> list[AnyMessage]:
    return [HumanMessage(f"{n}: " + "roses " * words, id=f"u{n}"), AIMessage(f"{n}: " + "lilies " * words, id=f"a{n}")]


def covered(view: ChainView, talk: Talk) -> set[str]:
    """Ids of the messages that a view shows or that stand under a summary in it."""
    found: set[str] = set()
    waiting = [str(message.id) for message in view]
    while waiting:
        id_ = waiting.pop()
        found.add(id_)
        waiting += talk.thread.made[id_].source_ids if id_ in talk.thread.made else ()
    return found


sizes = st.lists(st.integers(1, 80), min_size=30, max_size=70)


@pytest.mark.parametrize("profile", EACH_PROFILE)
@costly
@given(sizes=sizes)
def test_the_newest_messages_stand_as_said_and_none_is_lost(profile: str, sizes: list[int]) -> None:
    talk = Talk(profile)
    for n, words in enumerate(sizes):
        view = talk.shown(3000).view
        said = [str(message.id) for message in talk.thread.said]
        assert [str(message.id) for message in view][-5:-1] == said[-4:]
        assert covered(view, talk) >= set(said)
        raw = [str(message.id) for message in view if not is_summary(message)]
        assert len(raw) == len(set(raw))
        assert [id_ for id_ in said if id_ in raw] == raw[:-1]  # in the order they were said
        talk.say(*turn(n, words))


@pytest.mark.parametrize("profile", EACH_PROFILE)
@costly
@given(sizes=sizes)
def test_between_cuts_what_is_shown_only_grows_at_its_end(profile: str, sizes: list[int]) -> None:
    """And it is cut rarely: not before the conversation has grown by a good part of what may stand in it."""
    talk, cuts = Talk(profile), list[Cut]()
    for n, words in enumerate(sizes):
        cuts.append(talk.shown(6000, before=cuts[-1] if cuts else None))
        talk.say(*turn(n, words))
    views = [[message.id for message in one.view][:-1] for one in cuts]
    again = sum(new[: len(old)] != old for old, new in pairwise(views))
    tokens = count_message_tokens(talk.thread.said)
    high = Marks.of(Layout.of(talk.settings), 6000).high
    assert again <= 2 + 2.5 * tokens / high


def test_what_leads_a_prompt_outlasts_a_merge_of_the_chain() -> None:
    """The summaries that stood before stand again, though the chain has one of them all in their place."""
    talk, before = Talk("hybrid"), None
    outlasted = 0
    for n in range(60):
        talk.say(*turn(n))
        shown = talk.shown(4000, before=before)
        roots = {str(message.id) for message in talk.thread.view}
        if before is not None and before.begins == shown.begins:
            outlasted += any(id_ not in roots for id_ in shown.begins[:-1])
        before = shown
    assert outlasted


def test_a_prompt_begins_anew_where_what_led_it_is_gone() -> None:
    talk = Talk("multi_strategy")
    for n in range(60):
        talk.say(*turn(n))
    first = talk.shown(3000)
    unknown = first._replace(begins=("gone", *first.begins))
    assert talk.shown(3000, before=first).begins == first.begins
    anew = talk.shown(3000, before=unknown)
    assert "gone" not in anew.begins
    assert covered(anew.view, talk) >= {str(message.id) for message in talk.thread.said}


@costly
@given(sizes=sizes, budget=st.integers(700, 8000))
@pytest.mark.slow
def test_the_conversation_as_said_stays_under_its_high_mark_and_the_prompt_within_its_budget(
    sizes: list[int], budget: int
) -> None:
    talk = Talk("multi_strategy")
    layout = Layout.of(talk.settings)
    marks = Marks.of(layout, budget)
    for n, words in enumerate(sizes):
        view = talk.shown(budget).view
        first = max((at for at, message in enumerate(view) if is_summary(message)), default=-1) + 1
        if first:
            assert count_message_tokens(view[first:-1]) <= max(marks.high, 4 * 300)
        prompt, report, _ = assemble(view, [], [], system_prompt="Be kind.", budget=budget, layout=layout)
        assert count_message_tokens(prompt) == report.tokens <= budget
        talk.say(*turn(n, words))


@pytest.mark.parametrize("profile", EACH_PROFILE)
def test_a_small_window_has_summaries_that_leave_room_to_talk(profile: str) -> None:
    """In a window of 2,000 tokens they are shorter, and what begins a prompt begins the next one too, mostly."""
    talk, cuts = Talk(profile, max_context_tokens=2000), list[Cut]()
    budget = token_budget(talk.settings, None)
    for n in range(60):
        cuts.append(talk.shown(budget, before=cuts[-1] if cuts else None))
        layout = Layout.of(talk.settings)
        _, report, _ = assemble(cuts[-1].view, [], [], system_prompt="Be kind.", budget=budget, layout=layout)
        assert all(not section.dropped and not section.cut for section in report.sections), n
        talk.say(*turn(n, 25))
    assert sum(new.begins != old.begins for old, new in pairwise(cuts)) <= 30
    assert Settings(profile=profile, max_context_tokens=2000, summary_length=300).summary_length == 300


def test_what_was_found_moves_the_cut_where_it_has_no_room_beside() -> None:
    """Else what stands before the conversation gives way to it: two prompts in a row are written anew."""
    talk, budget, before = Talk("hybrid"), 1500, None
    for n in range(40):
        before = talk.shown(budget, before=before)
        talk.say(*turn(n, 12))
        shown = talk.shown(budget, before=before)
        tokens = count_message_tokens(shown.view)
        if n > 20 and shown.begins == before.begins and tokens > 450:
            assert talk.shown(budget, before=before, found=1300 - tokens).begins == before.begins
            moved = talk.shown(budget, before=before, found=1440 - tokens)
            assert count_message_tokens(moved.view) < tokens
            return
    raise AssertionError("no prompt was large enough")


def test_a_short_conversation_is_shown_whole_and_no_summary_of_it() -> None:
    talk = Talk("multi_strategy")
    for n in range(12):
        talk.say(*turn(n))
    view = talk.shown(8000).view
    assert [message.id for message in view] == [*(message.id for message in talk.thread.said), "q"]
    assert any(is_summary(message) for message in talk.thread.view)


def test_the_cut_is_the_same_however_much_was_read_and_whoever_asks() -> None:
    """It follows from the conversation alone: a program that starts anew cuts at the same place."""
    talk = Talk("multi_strategy")
    for n in range(60):
        talk.say(*turn(n))
    first = talk.shown(3000)
    again = Talk("multi_strategy")
    again.thread = talk.thread
    assert list(again.shown(3000, "Something else?").view)[:-1] == list(first.view)[:-1]
    assert first.since is not None
    oldest = next(message for message in first.view if isinstance(message, HumanMessage) and message.id != "u0")
    assert oldest.id is not None


def test_what_was_not_read_stays_a_summary() -> None:
    talk = Talk("multi_strategy")
    for n in range(12):
        talk.say(*turn(n))
    view = talk.thread.view
    alone = cut(view, {}, {}, Marks(5000, 100))
    assert list(alone.view) == list(view)


def test_a_call_of_a_tool_is_not_parted_from_its_result() -> None:
    talk = Talk("multi_strategy")
    for n in range(40):
        call = AIMessage("", id=f"c{n}", tool_calls=[{"name": "look", "args": {}, "id": f"k{n}"}])
        result = ToolMessage("found " * 20, id=f"r{n}", tool_call_id=f"k{n}")
        asked, reply = turn(n)
        talk.say(asked, call, result, reply)
        view = talk.shown(1500).view
        results = {m.tool_call_id for m in view if isinstance(m, ToolMessage)}
        calls = {made["id"] for m in view if isinstance(m, AIMessage) for made in m.tool_calls}
        assert calls == results


@pytest.mark.parametrize("profile", EACH_PROFILE)
def test_calls_of_tools_do_not_count_among_the_newest_messages_that_stay(profile: str) -> None:
    talk = Talk(profile)
    for n in range(30):
        call = AIMessage("", id=f"c{n}", tool_calls=[{"name": "look", "args": {}, "id": f"k{n}"}])
        asked, reply = turn(n, 100)
        talk.say(asked, call, ToolMessage("found " * 200, id=f"r{n}", tool_call_id=f"k{n}"), reply)
        shown = {message.id for message in talk.shown(3000).view}
        assert shown >= {message.id for past in range(max(0, n - 1), n + 1) for message in turn(past)}


def test_a_summary_shows_nothing_that_stands_as_said_beside_it() -> None:
    talk = Talk("sliding_summary")
    for n in range(60):
        talk.say(*turn(n))
        view = talk.shown(3000).view
        raw = {str(message.id) for message in view if not is_summary(message)}
        for message in view:
            if is_summary(message):
                assert raw.isdisjoint(summary_of(message).source_ids)


def test_the_counter_of_the_model_decides_what_fits() -> None:
    talk = Talk("multi_strategy")
    for n in range(12):
        talk.say(*turn(n))
    view = ChainView([*talk.thread.view, HumanMessage("And?", id="q")], talk.thread.view.kept)
    texts: Any = {**talk.thread.made, **{str(m.id): m for m in talk.thread.said}}
    places = {str(m.id): Place(n, BEGIN) for n, m in enumerate(talk.thread.said, start=1)}
    marks = Marks(2000, 100)
    plain = cut(view, texts, places, marks)
    raised = cut(view, texts, places, marks, TokenCounter(factor=4.0))
    assert sum(map(is_summary, plain.view)) < sum(map(is_summary, raised.view))
