"""A slip that is set right in the next message: "I meant Lyon, not Lille"."""

from __future__ import annotations

from datetime import timedelta

import pytest
from conversation import EchoModel, open_with, say
from langchain_core.embeddings import DeterministicFakeEmbedding

from everthread import Settings
from everthread.facts.extraction import Occasion
from everthread.facts.reading import Ledger, Message, apply, read_facts
from everthread.state.fact_records import Fact
from everthread.state.records import now


def known_after(*texts: str) -> tuple[Fact, ...]:
    """The open facts after messages of one thread, one a day."""
    ledger, before = Ledger(), ""
    for number, text in enumerate(texts):
        said = Occasion("t", str(number), now() + timedelta(days=number))
        message = Message(said, text, before, str(number - 1))
        ledger = apply(ledger, [read_facts(message, score=lambda _: 0.0, auto_pin_score=None)])
        before = text
    return tuple(fact for fact in ledger.facts if fact.is_open)


@pytest.mark.parametrize(
    ("said", "meant", "home"),
    [
        ("I live in Lille.", "Sorry, I meant Lyon, not Lille.", "lyon"),
        ("Ich wohne in Köln.", "Ich meinte Bonn, nicht Köln.", "bonn"),
        ("J'habite à Lille.", "Je voulais dire Lyon, pas Lille.", "lyon"),
        ("Vivo en Lima.", "Quise decir Cusco, no Lima.", "cusco"),
        ("Moro em Braga.", "Quis dizer Faro, não Braga.", "faro"),
        ("Vivo a Roma.", "Volevo dire Milano, non Roma.", "milano"),
        ("Saya tinggal di Bandung.", "Maksud saya Bogor, bukan Bandung.", "bogor"),
        ("Я живу в Казани.", "Я имел в виду Самаре, а не Казани.", "самаре"),
        ("我住在上海。", "我的意思是北京，不是上海。", "北京"),
        ("私は大阪に住んでいます。", "大阪じゃなくて、京都です。", "京都"),
        ("저는 부산에 살아요.", "부산이 아니라 대구예요.", "대구"),
        ("أعيش في الرباط", "أقصد طنجة، وليس الرباط", "طنجة"),
    ],
)
def test_what_was_meant_stands_for_what_was_said(said: str, meant: str, home: str) -> None:
    assert [(fact.attribute, fact.value) for fact in known_after(said, meant)] == [("home", home)]


def test_the_name_of_somebody_else_is_set_right() -> None:
    assert [fact.value for fact in known_after("My sister is called Anna.", "I meant Hanna, not Anna.")] == ["hanna"]


def test_an_allergy_that_was_a_slip_ends() -> None:
    known = known_after("I'm allergic to almonds.", "I meant walnuts, not almonds.")
    assert [fact.text for fact in known if not fact.negated] == ["I'm allergic to walnuts"]


def test_what_else_either_message_says_stays() -> None:
    known = known_after("I live in Lille and work at Orange.", "I meant Lyon, not Lille. I also have two cats.")
    assert {fact.attribute for fact in known} == {"home", "employer", "count cat"}
    assert {fact.value for fact in known} == {"lyon", "orange", "2"}


def test_what_was_not_said_before_is_not_set_right() -> None:
    assert known_after("What's the weather?", "I meant Lyon, not Lille.") == ()
    assert [fact.value for fact in known_after("I live in Oslo.", "I meant Lyon, not Lille.")] == ["oslo"]


@pytest.mark.parametrize(
    ("said", "meant", "asks", "gone"),
    [
        ("I live in Lille.", "I meant Lyon, not Lille.", "Forget that I live in Lyon.", "Lyon"),
        ("Ich wohne in Köln.", "Ich meinte Bonn, nicht Köln.", "Vergiss, dass ich in Bonn wohne.", "Bonn"),
    ],
)
async def test_what_was_meant_is_forgotten_with_the_message_that_said_it(
    at_hand: Settings, said: str, meant: str, asks: str, gone: str
) -> None:
    embeddings = DeterministicFakeEmbedding(size=8)
    async with open_with(at_hand, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        await say(graph, said)
        await say(graph, meant)
        await graph.asettled()  # type: ignore[attr-defined]
        state = await say(graph, asks)
        assert state["facts"].forgotten.is_done
        await graph.asettled()  # type: ignore[attr-defined]
        state = await say(graph, "Hello.", to="elsewhere")
        assert gone not in str(state["context"].messages)
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        assert all(gone not in fact.text for fact in await user.facts.all_facts() if fact.is_open)
