"""What asks for forgetting, and what it means: in 17 languages, and never more than was meant."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from everthread.facts.commands import commands
from everthread.facts.extraction import Occasion, extract
from everthread.facts.forgetting import Meant, meant_by, rest_of, sources_of
from everthread.facts.language import language_in, languages
from everthread.facts.said import Said
from everthread.state.fact_records import Fact, Pin

TABLE = Path(__file__).parent / "data" / "forgetting.tsv"
MOMENT = datetime(2024, 5, 1, tzinfo=UTC)


class Row(NamedTuple):
    """A message, and what it asks for; "-" where it asks for no forgetting. The lists were not tuned on `held` rows."""

    language: str
    act: str
    text: str
    held: bool


def rows() -> list[Row]:
    found: list[Row] = []
    for line in TABLE.read_text().splitlines():
        language, act, text = line.split("\t")
        alike = [row for row in found if row.language == language and (row.act == "-") == (act == "-")]
        found.append(Row(language, act, text, held=len(alike) % 2 == 1))
    return found


def act_of(text: str) -> str:
    asked = [command.act for command in commands(text) if command.act != "remember"]
    return asked[-1] if asked else "-"


def test_the_table_has_enough_of_each_language() -> None:
    for code in languages():
        mine = [row.act == "-" for row in rows() if row.language == code]
        assert min(sum(mine), len(mine) - sum(mine)) >= (25 if code in {"en", "de", "fr", "es"} else 10), code


@pytest.mark.parametrize("held", [False, True])
def test_requests_are_told_from_what_only_sounds_like_one(held: bool) -> None:
    part = [row for row in rows() if row.held == held]
    taken = [row for row in part if row.act == "-" and act_of(row.text) != "-"]
    missed = [row for row in part if row.act != "-" and act_of(row.text) != row.act]
    assert not taken
    assert len(missed) <= 0.02 * len(part), missed


def meant(request: str, *said: str) -> Meant:
    """What a request means among what was said before it; "A:" begins what the assistant said."""
    messages = [
        Said("t", f"m{n}", n, "assistant" if text.startswith("A:") else "user", text.removeprefix("A:"), MOMENT)
        for n, text in enumerate(said)
    ]
    facts = [
        fact for one in messages if one.role == "user" for fact in extract(one.text, Occasion("t", one.id, MOMENT))
    ]
    language = language_in(request)
    assert language is not None
    return meant_by(commands(request)[-1], language, Occasion("t", "q", MOMENT), messages, facts=facts)


def gone(request: str, *said: str) -> dict[str, str]:
    """The messages of which something goes, each with its rest."""
    return {part.said.text: part.rest for part in meant(request, *said).parts}


@pytest.mark.parametrize(
    ("request_", "goes", "stays"),
    [
        ("Forget that I live in Oslo.", "I live in Oslo.", "I work in Oslo."),
        ("Forget that I live in Oslo.", "Since I live in Oslo, I ski.", "What is the weather in Oslo?"),
        ("Forget that I live in Oslo.", "We live in Oslo, Norway.", "I don't live in Oslo."),
        ("Forget that I have diabetes.", "I have diabetes.", "My mother has diabetes."),
        ("Forget that I like cats.", "I like cats and dogs.", "I hate cats."),
        ("Forget that I smoke.", "I smoke.", "I hate smoke in restaurants."),
        ("Forget my address", "I live in Oslo.", "I work as a nurse."),
        ("Forget my sister's address", "My sister lives in Rome.", "I live in Oslo."),
        ("Forget my phone number", "My phone number is 123.", "I like my phone."),
        ("Forget that the alarm code is 1234", "Remember that the alarm code is 1234.", "The door code is 1234."),
        ("Forget everything I said about my sister.", "My sister lives in Rome.", "My brother lives in Rome."),
        ("Vergiss, dass ich in Wien wohne.", "Ich wohne in Wien.", "Ich arbeite in Wien."),
        ("Vergiss meine Adresse.", "Ich wohne in Wien.", "Ich habe einen Hund."),
        ("Vergiss, dass ich Diabetes habe.", "Ich habe Diabetes.", "Meine Mutter hat Diabetes."),
        ("Oublie que j'habite à Paris.", "J'habite à Paris.", "Je travaille à Paris."),
        ("Olvida que vivo en Madrid.", "Vivo en Madrid.", "Trabajo en Madrid."),
        ("Dimentica che vivo a Roma.", "Vivo a Roma.", "Lavoro a Roma."),
        ("Esqueça que moro em Lisboa.", "Eu moro em Lisboa.", "Trabalho em Lisboa."),
        ("Lupakan bahwa saya tinggal di Jakarta.", "Saya tinggal di Jakarta.", "Saya bekerja di Jakarta."),
        ("Забудь, что я живу в Москве.", "Я живу в Москве.", "Я работаю в Москве."),
        ("Забудь, что у меня диабет.", "У меня диабет.", "У мамы диабет."),
        ("请忘记我住在北京。", "我住在北京。", "我在北京工作。"),
        ("忘了我的地址", "我住在北京。", "我喜欢喝茶。"),
        ("私がオスロに住んでいることを忘れてください。", "私はオスロに住んでいます。", "私はオスロで働いています。"),
        ("僕が糖尿病だということを忘れてください。", "僕は糖尿病です。", "母は糖尿病です。"),
        ("내가 오슬로에 산다는 것을 잊어줘.", "나는 오슬로에 살아요.", "나는 고양이를 좋아해요."),
        ("Oslo'da yaşadığımı unut.", "Oslo'da yaşıyorum.", "Oslo'da çalışıyorum."),
        ("Adresimi unut.", "Oslo'da yaşıyorum.", "Kedileri seviyorum."),
        ("انس أنني أعيش في القاهرة", "أنا أعيش في القاهرة", "أعمل في القاهرة"),
    ],
)
def test_what_says_it_goes_and_nothing_else(request_: str, goes: str, stays: str) -> None:
    assert gone(request_, goes, stays) == {goes: ""}
    assert gone(request_, stays, goes) == {goes: ""}
    assert gone(request_, stays) == {}


def test_only_the_sentence_goes_and_what_a_reply_repeats_of_it() -> None:
    said = (
        "Hello!\n\nI live in Oslo. My dog is Rex.",
        "A:Oslo is lovely! How old is Rex?",
        "A:You live in Oslo, I think.",
    )
    assert gone("Forget that I live in Oslo", *said) == {
        "Hello!\n\nI live in Oslo. My dog is Rex.": "Hello!\n\n My dog is Rex.",
        "Oslo is lovely! How old is Rex?": "How old is Rex?",
        "You live in Oslo, I think.": "",
    }


def test_a_reply_to_a_message_that_goes_as_a_whole_goes_whatever_its_words_are() -> None:
    said = ("I live in Oslo.", "A:The capital of Norway! Is it cold?", "I like tea.", "A:They have good tea there.")
    assert gone("Forget that I live in Oslo", *said) == dict.fromkeys([said[0], said[1].removeprefix("A:")], "")


def test_where_several_match_or_only_a_part_matches_nothing_goes_and_what_may_be_meant_is_told() -> None:
    two = ("I have an appointment with the dentist on Monday.", "My appointment with Bob is on Tuesday.")
    assert meant("Forget my appointment", *two) == Meant(unclear=two)
    assert meant("Forget that I have a meeting with Bob on Monday", "I have a meeting with Bob on Tuesday.") == Meant(
        unclear=("I have a meeting with Bob on Tuesday.",)
    )
    assert meant("Forget that I live in Oslo", "I like tea.") == Meant()


def test_everything_known_is_what_facts_and_pins_were_made_from() -> None:
    said = [Said("t", "a", 1, "user", "I live in Oslo. What a day!", MOMENT), Said("t", "b", 2, "user", "Hi", MOMENT)]
    facts: list[Fact] = extract(said[0].text, Occasion("t", "a", MOMENT))
    pins: list[Pin] = []
    assert [(part.said.id, part.rest) for part in sources_of(facts, pins, said).parts] == [("a", "What a day!")]


def test_what_a_message_says_beside_its_request_is_told_apart() -> None:
    assert rest_of("Forget that I live in Oslo. I live in Bergen now.") == "I live in Bergen now."
    assert rest_of("Please forget my address.") == ""
