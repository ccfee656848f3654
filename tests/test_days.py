"""A conversation that goes on on another day says so; one of a single day does not."""

from datetime import UTC, date, datetime

from langchain_core.messages import AIMessage, HumanMessage

from everthread.assembly.assemble import assemble
from everthread.assembly.days import days_of
from everthread.state.records import Fragment, Memory, Place

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


def test_a_question_that_says_when_it_was_said_reads_the_same_in_the_next_prompt():
    asked = HumanMessage("When was she ill?", id="5", additional_kwargs={"created_at": "2026-05-09T10:00:00+00:00"})
    talk, today = [*TALK[:-1], asked], date(2026, 5, 20)
    now = assemble(talk, (), (), system_prompt="Help.", budget=2000, days=days_of(talk, said_on(4, 4, 9, 9), today))
    assert now.messages[-1].text == "When was she ill?"  # the day went on
    more = [*talk, AIMessage("On the fourth.", id="6"), HumanMessage("And well?", id="7")]
    later = assemble(
        more, (), (), system_prompt="Help.", budget=2000, days=days_of(more, said_on(4, 4, 9, 9, 9, 9), today)
    )
    assert [message.text for message in later.messages[: len(now.messages)]] == [m.text for m in now.messages]


def test_what_is_remembered_is_dated_beside_the_question_s_own_day():
    asked = HumanMessage("When was she ill?", id="5", additional_kwargs={"created_at": "2023-05-09"})
    said = Memory(
        thread_id="other", source_type="message", rank=1, created_at=datetime(2023, 5, 4, tzinfo=UTC),
        fragments=(Fragment(id="f", role="user", content="My dog is ill."),), source_ids=("f",),
    )  # fmt: skip
    made = assemble([asked], [said], (), system_prompt="Help.", budget=2000)
    assert "today is 2023-05-09" in made.messages[-1].text
