"""A conversation that goes on on another day says so; one of a single day does not."""

from datetime import UTC, date, datetime

from langchain_core.messages import AIMessage, HumanMessage

from everthread.assembly.assemble import assemble
from everthread.assembly.days import days_of
from everthread.state.records import Place

TALK = [
    HumanMessage("My dog is ill.", id="1"), AIMessage("Poor dog.", id="2"),
    HumanMessage("She is well again.", id="3"), AIMessage("Good.", id="4"),
    HumanMessage("When was she ill?", id="5"),
]  # fmt: skip


def said_on(*days: int) -> dict[str, Place]:
    return {str(at): Place(at, datetime(2026, 5, day, 9, tzinfo=UTC)) for at, day in enumerate(days, start=1)}


def test_the_user_s_messages_that_begin_another_day_are_dated_and_the_question_by_today():
    places = said_on(4, 4, 9, 9)
    days = days_of(TALK, places, date(2026, 5, 20))
    made = assemble(TALK, (), (), system_prompt="Help.", budget=2000, days=days)
    assert [message.text for message in made.messages[1:]] == [
        "[2026-05-04]\n\nMy dog is ill.", "Poor dog.", "[2026-05-09]\n\nShe is well again.", "Good.",
        "[2026-05-20]\n\nWhen was she ill?",
    ]  # fmt: skip


def test_a_conversation_of_one_day_is_not_dated():
    assert not days_of(TALK, said_on(4, 4, 4, 4), date(2026, 5, 4))
    assert not days_of(TALK, {}, date(2026, 5, 4))


def test_a_day_that_goes_on_is_told_once():
    assert list(days_of(TALK, said_on(4, 4, 4, 4), date(2026, 5, 5))) == ["1", "5"]


def test_a_message_of_which_no_day_is_known_is_not_dated():
    places = said_on(4, 4)
    assert days_of(TALK, places, date(2026, 5, 5)) == {"1": date(2026, 5, 4), "5": date(2026, 5, 5)}
