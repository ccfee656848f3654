"""What a remembered message says of other days stands in the prompt with their dates."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from everthread.assembly.assemble import assemble
from everthread.memory.pairing import spanning
from everthread.state.records import Fragment, Memory, now
from everthread.text.told_days import days_told

FRIDAY = date(2023, 6, 9)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I adopted him last May.", " [last may: 2023-05]"),
        ("We met last June.", " [last june: 2022-06]"),
        ("Yesterday, and again last week.", " [yesterday: 2023-06-08; last week: 2023-05-29 to 2023-06-04]"),
        ("The day before yesterday!", " [the day before yesterday: 2023-06-07]"),
        ("We came yesterday, the packing was the week before.",
         " [yesterday: 2023-06-08; the week before: 2023-05-29 to 2023-06-04]"),
        ("Last Friday, then three months ago", " [last friday: 2023-06-02; three months ago: 2023-03]"),
        ("The race is tomorrow.", " [tomorrow: 2023-06-10]"),
        ("J'ai couru mai dernier, et hier.", " [mai dernier: 2023-05; hier: 2023-06-08]"),
        ("Das war letzten Montag.", " [letzten montag: 2023-06-05]"),
        ("Fue el lunes pasado", " [el lunes pasado: 2023-06-05]"),
        ("我们去年见面了", " [去年: 2022]"),
        ("Ayer vendimos la moto; la semana anterior compramos un coche.",
         " [ayer: 2023-06-08; la semana anterior: 2023-05-29 to 2023-06-04]"),
        ("Ayer vendimos la moto, la semana anterior a la boda.", " [ayer: 2023-06-08]"),
        ("We came last May, and the week before.", " [last may: 2023-05]"),
    ],
)  # fmt: skip
def test_days_are_told_from_the_day_on_which_it_was_said(text: str, told: str) -> None:
    assert days_told(text, FRIDAY) == told


@pytest.mark.parametrize(
    "text",
    ["", "The week before the wedding was calm.", "The week before was calm.", "I am going on Friday.", "I may come.",
     "This week, today.", "Guten Morgen!", "Hasta mañana"],
)  # fmt: skip
def test_what_is_not_certain_or_the_same_day_is_not_told(text: str) -> None:
    assert days_told(text, FRIDAY) == ""


@given(
    st.lists(st.sampled_from(["last may", "the week before", "999 years ago", "tomorrow", ".", "на"])).map(" ".join),
    st.dates(),
)
def test_any_text_of_any_day_is_read(text: str, said: date) -> None:
    told = days_told(text, said)
    assert not told or (told.startswith(" [") and told.endswith("]") and told.count(":") <= 4)


def _prompt(text: str, role: str, budget: int) -> str:
    said = datetime(2023, 6, 9, tzinfo=UTC)
    fragment = Fragment(id="m1", role=role, content=text, created_at=said)
    memory = Memory(
        fragments=(fragment,), source_type="message", source_ids=("m1",), thread_id="t1", rank=1, created_at=said
    )
    question = HumanMessage("When did we come?", id="q")
    prompt, report, _ = assemble([question], [memory], [], system_prompt="", budget=budget)
    assert report.tokens <= budget
    return "\n".join(message.text for message in prompt)


def test_a_memory_stands_in_the_prompt_with_the_days_it_tells_and_the_date_of_today() -> None:
    prompt = _prompt("I adopted him last May.", "user", 2000)
    assert "(2023-06-09) user: I adopted him last May. [last may: 2023-05]" in prompt
    assert f"today is {now().date()}" in prompt
    assert "[" not in _prompt("I adopted him last May.", "tool", 2000)


def test_a_memory_that_is_cut_keeps_the_days_of_what_is_left() -> None:
    long = " ".join(f"Room {number} was painted in green and white by the two of us." for number in range(60))
    assert "[yesterday: 2023-06-08]" in _prompt(f"When we came yesterday it rained. {long}", "user", 300)


def _summary(text: str, below: list[Fragment], *, all_of_it: bool = True) -> Memory:
    own = Fragment(id="s1", role="assistant", content=text, created_at=now())
    memory = Memory(
        fragments=(own,), source_type="summary", source_ids=("s1",), thread_id="t1", rank=1, created_at=now()
    )
    return spanning(memory, below, all_of_it=all_of_it)


def _said(number: int, text: str, day: int) -> Fragment:
    said = datetime(2023, 6, day, tzinfo=UTC)
    return Fragment(id=f"m{number}", role="user", content=text, seq=number, created_at=said)


def _told(*memories: Memory) -> str:
    prompt, _, _ = assemble(
        [HumanMessage("Where do I moor?", id="q")], list(memories), [], system_prompt="", budget=900
    )
    return "\n".join(message.text for message in prompt)


def test_a_summary_bears_the_days_of_which_it_tells_and_not_that_on_which_it_was_made() -> None:
    """Else what it says would be later than what has changed since."""
    below = [_said(1, "I moor at Semington.", 2), _said(2, "The cat fell in.", 5)]
    assert "(2023-06-02 to 2023-06-05) summary: Moored at Semington" in _told(_summary("Moored at Semington", below))
    beginning_unknown = _summary("Moored at Semington", below, all_of_it=False)
    assert "(2023-06-05) summary: Moored at Semington" in _told(beginning_unknown)


def test_a_summary_that_only_repeats_what_is_told_is_left_out() -> None:
    said = [_said(1, "I moor at Semington for two weeks now.", 2), _said(2, "The cat fell into the canal.", 5)]
    found = [
        Memory(fragments=(f,), source_type="message", source_ids=(f.id,), thread_id="t1", rank=1, created_at=now())
        for f in said
    ]
    repeats = _summary("user: I moor at Semington for two weeks now. The cat fell into the canal.", said)
    more = _summary("user: I moor at Semington for two weeks now. The stove smokes in the wind.", said)
    assert "summary" not in _told(repeats, *found)
    assert "stove" in _told(more, *found)
