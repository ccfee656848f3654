"""Follow-ups as queries that stand alone, without a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from everthread.nodes.keyword_check import read_words
from everthread.search.cleaning import MAX_QUERY
from everthread.search.router.standalone import standalone_query
from everthread.settings.settings import Settings


@pytest.mark.parametrize(
    ("before", "question", "subject"),
    [
        (["Who is the president of France?"], "How old is he?", "president France"),
        (["Who is Ada Lovelace?"], "When was she born?", "Ada Lovelace"),
        (["I read about Sickle Cell disease", "Can it be treated?"], "Is it painful?", "Sickle Cell disease"),
        (["Wer baute den Eiffelturm?"], "Wie hoch ist er?", "Eiffelturm"),
        (["Qui est Marie Curie ?"], "Quel âge a-t-elle ?", "Marie Curie"),
        (["¿Quién es Lionel Messi?"], "¿Cuántos años tiene?", "Lionel Messi"),
        (["Quem é Pelé?"], "Quantos anos ele tem?", "Pelé"),
        (["Chi è Sophia Loren?"], "Quanti anni ha?", "Sophia Loren"),
        (["Tarkan kimdir?"], "Kaç yaşında?", "Tarkan"),
        (["Кто такой Юрий Гагарин?"], "Когда он родился?", "Юрий Гагарин"),
        (["من هو محمد صلاح؟"], "كم عمره؟", "محمد صلاح"),
        (["शाहरुख खान कौन है?"], "उसका घर कहाँ है?", "शाहरुख खान"),
        (["周杰伦是谁？"], "他多大了？", "周杰伦"),
        (["イチローは誰ですか"], "彼は何歳ですか", "イチロー"),
    ],
)
def test_a_follow_up_gets_its_subject_from_the_turns_before(before: list[str], question: str, subject: str) -> None:
    query = standalone_query(question, before)
    assert query.startswith(question)
    assert query.endswith(f" {subject}")


FRESH = [
    ("Who wrote Dracula?", "When did he die?", "Dracula"),
    ("What is the capital of Peru?", "How many people live there?", "Peru"),
    ("Tell me about the Tesla Model 3", "How fast is it?", "Tesla"),
    ("Who won Wimbledon in 2023?", "What is her ranking now?", "Wimbledon"),
    ("Is the Louvre open on Mondays?", "What does it cost?", "Louvre"),
    ("Who is the CEO of Nvidia?", "Where did he study?", "Nvidia"),
    ("What is Kubernetes?", "Who created it?", "Kubernetes"),
    ("Best hotels in Porto", "Are they expensive?", "Porto"),
    ("Wer ist Angela Merkel?", "Wo wurde sie geboren?", "Merkel"),
    ("Wie heißt der Bürgermeister von Wien?", "Wie alt ist er?", "Wien"),
    ("Où se trouve le Mont Blanc ?", "Quelle est sa hauteur ?", "Mont Blanc"),
    ("Qui est Emmanuel Macron ?", "Où est-il né ?", "Macron"),
    ("¿Qué es el Camino de Santiago?", "¿Cuántos kilómetros son?", "Santiago"),
    ("¿Quién es Rosalía?", "¿Dónde nació ella?", "Rosalía"),
    ("Quem é Marta?", "Onde ela nasceu?", "Marta"),
    ("Chi è Federica Pellegrini?", "Quanti anni ha?", "Pellegrini"),
    ("Wie is Max Verstappen?", "Hoe oud is hij?", "Verstappen"),
    ("Ankara nerede?", "Orada hava nasıl?", "Ankara"),
    ("Кто написал Мастера и Маргариту?", "Когда он умер?", "Мастера"),
    ("где находится Байкал?", "Какая у него глубина?", "Байкал"),
    ("من هو نجيب محفوظ؟", "أين ولد؟", "محفوظ"),
    ("ताज महल कहाँ है?", "उसे किसने बनाया?", "ताज"),
    ("马云是谁？", "他的公司叫什么？", "马云"),
    ("東京スカイツリーはどこですか", "それはいつ建てられましたか", "スカイツリー"),
]
"""Written after the lists of words, and not used to choose them."""


def test_follow_ups_that_no_list_was_made_for_get_their_subject_four_times_of_five() -> None:
    held = sum(subject in standalone_query(question, [before]) for before, question, subject in FRESH)
    assert held >= 19


@pytest.mark.parametrize(
    "question",
    [
        "What is the weather in Oslo today?",
        "Who is Patel?",
        "What is a galaxy?",
        "Is it possible to train a cat?",
        "I bought a bicycle and it broke after a day, what are my rights?",
        "How did Germany elect its chancellor in 2021?",
        "latest news",
        "How do magnets work?",
        "Quelle est la météo aujourd'hui à Lyon ?",
        "ما هو الطقس اليوم في القاهرة؟",
        "Wie wird das Wetter morgen in Köln?",
        "明天上海的天气怎么样？",
        "Is it raining?",
        "What time is it?",
        "Il pleut ?",
        "Who won the game yesterday?",
        "price of gold today",
        "my printer is broken and it makes noise, what can I do",
        "Should I buy Bitcoin?",
        "Wie funktioniert ein Kühlschrank?",
        "Combien coûte un billet pour Rome ?",
        "¿Qué tiempo hace en Sevilla?",
        "Che cos'è la fotosintesi?",
        "Hoeveel inwoners heeft Gent?",
        "Сколько стоит доллар?",
        "今日のニュース",
        "क्रिकेट स्कोर",
        "Dolar kaç TL?",
        "Thanks!",
    ],
)
def test_a_turn_that_stands_alone_stays_as_it_is(question: str) -> None:
    assert standalone_query(question, ["Tell me about the Eiffel Tower", "Who is Lionel Messi?"]) == question


def test_without_earlier_turns_nothing_changes() -> None:
    assert standalone_query("How tall is it?", []) == "How tall is it?"
    assert standalone_query("How tall is it?", ["", "ok", "and you?"]) == "How tall is it?"


def test_the_newest_subject_counts() -> None:
    before = ["Who built the Eiffel Tower?", "And who built Big Ben?"]
    assert standalone_query("How tall is it?", before) == "How tall is it? Big Ben"


@pytest.mark.parametrize("private", ["bob@example.com", "+49 170 1234567", "4111 1111 1111 1111"])
def test_what_is_private_is_never_a_subject(private: str) -> None:
    query = standalone_query("How old is it?", [f"My contact is {private}"])
    assert not any(part in query for part in (private, "example.com", "1234567", "4111"))


@given(st.text(max_size=600), st.lists(st.text(max_size=200), max_size=5))
def test_any_talk_gives_a_query_of_one_line_that_engines_take(question: str, before: list[str]) -> None:
    query = standalone_query(question, before)
    assert len(query) <= MAX_QUERY
    assert "\n" not in query


async def test_the_words_that_ask_for_a_search_search_for_a_query_that_stands_alone() -> None:
    messages = [HumanMessage("Who is Lionel Messi?"), AIMessage("A footballer."), HumanMessage("Look up how old he is")]
    outcome = await read_words({"messages": messages}, Settings())  # type: ignore[typeddict-item]
    assert (outcome.decided_by, outcome.query) == ("user", "Look up how old he is Lionel Messi")
