"""The node `keyword_check` and the word lists behind it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from processor import seconds

from everthread.nodes.keyword_check import read_words
from everthread.search.router import keywords, wordlists
from everthread.search.router.words import lines, split
from everthread.settings.settings import Settings
from everthread.state.messages import newest_question
from everthread.state.search_records import SearchOutcome
from everthread.text.data import FOLDER


async def check(text: object, **settings: object) -> SearchOutcome:
    state = {"messages": [HumanMessage("an earlier question"), AIMessage("a reply"), HumanMessage(text)]}
    return await read_words(state, Settings(**settings))


@pytest.mark.parametrize(
    "text",
    [
        "the latest Mars rover",
        "current mayor of Lyon",
        "recent papers on sleep",
        "anything on at the museum today",
        "weather in Oslo",
        "Tesla stock price",
        "Who is the CEO of Intel?",
        f"is PostgreSQL 19 out in {datetime.now(UTC).year}",
        "Wie wird das Wetter morgen in Köln?",
        "Quelle est la météo aujourd'hui à Lyon ?",
        "¿Cuál es el precio actual del oro?",
        "Quais são as últimas notícias de hoje?",
        "Che tempo fa oggi a Roma?",
        "İSTANBUL'DA BUGÜN HAVA DURUMU NASIL?",
        "istanbul'da bugün hava durumu nasıl?",
        "Какая сегодня погода в Москве?",
        "ما هو الطقس اليوم في القاهرة؟",
        "आज दिल्ली में मौसम कैसा है?",
        "今天北京天气怎么样",
        "今日の天気は？",
    ],
)
async def test_signs_of_needing_the_web_search_at_once(text: str) -> None:
    outcome = await check(text)
    assert outcome.needed is True
    assert outcome.decided_by == "keywords"
    assert outcome.query == text
    assert outcome.signs
    assert outcome.score == sum(sign.weight for sign in outcome.signs) >= 1.0


@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Hello there!",
        "Thanks so much for your help",
        "good morning, how are you?",
        "ok",
        "👋",
        "what did I say about the garden?",
        "Do you remember the name of the hotel?",
        "Find the bug in this code",
        "Translate 'what is the latest news' into French",
        "Write a poem about today",
    ],
)
async def test_chat_and_self_contained_requests_do_not_search(text: str) -> None:
    outcome = await check(text)
    assert outcome.needed is False
    assert outcome.decided_by == "keywords"
    assert outcome.query is None
    assert outcome.reason.endswith(".")


async def test_weak_signs_against_a_search_decide_only_where_a_small_model_would_be_paid_for() -> None:
    assert (await check("What is my dog called?")).needed is None
    assert (await check("What is my dog called?", slm_model="small")).needed is False


ASKED = [
    "What is a quasar?",
    "WHAT IS a quasar",
    "What’s a quasar?",
    "Tell me about the Bauhaus",
    "find hotels in Ghent",
]


@pytest.mark.parametrize("text", [*ASKED, "is fish kept in ice"])
async def test_words_that_do_not_decide_leave_it_to_the_router(text: str) -> None:
    assert (await check(text)).needed is None


@pytest.mark.parametrize("text", ASKED)
async def test_with_a_low_threshold_a_request_for_information_searches(text: str) -> None:
    outcome = await check(text, keyword_threshold=0.5)
    assert outcome.needed is True
    assert "information" in {sign.kind for sign in outcome.signs}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"Who won the cup in {datetime.now(UTC).year}?", str(datetime.now(UTC).year)),
        ("What does https://example.org/a say?", "https://example.org/a"),
        ("How does $TSLA do?", "$TSLA"),
        ("What changed in v3.12.1?", "v3.12.1"),
    ],
)
async def test_years_addresses_tickers_and_versions_are_signs_in_any_language(text: str, found: str) -> None:
    assert found in {sign.found for sign in (await check(text)).signs}


@pytest.mark.parametrize(
    "text",
    ["¡Hola!", "Danke schön", "merci beaucoup", "спасибо", "شكرا", "धन्यवाद", "谢谢", "ありがとう", "teşekkürler"],
)
async def test_thanks_and_greetings_in_any_language_do_not_search(text: str) -> None:
    assert (await check(text)).needed is False


@pytest.mark.parametrize(
    "text",
    [
        "Such im Internet nach Pfannen",
        "cherche sur internet des casseroles",
        "busca en internet ollas",
        "cerca su internet pentole",
        "найди в интернете кастрюли",
        "在网上搜索锅",
        "en iyi tencereleri internette ara",
        "鍋をネットで検索して",
        "अच्छे बर्तन इंटरनेट पर खोजो",
    ],
)
async def test_an_explicit_request_in_another_language_searches(text: str) -> None:
    outcome = await check(text)
    assert (outcome.needed, outcome.decided_by) == (True, "user")


@pytest.mark.parametrize(
    "text",
    [
        "Nicht im Internet suchen: wie ist das Wetter heute?",
        "sans chercher sur internet, quelle est la météo ?",
        "sin buscar en internet, ¿qué tiempo hace hoy?",
        "не ищи в интернете, какая сегодня погода?",
        "不要搜索，今天天气怎么样？",
    ],
)
async def test_an_opt_out_in_another_language_wins(text: str) -> None:
    outcome = await check(text)
    assert (outcome.needed, outcome.decided_by) == (False, "user")


@pytest.mark.parametrize(
    "text",
    [
        "What did I say today about the weather?",
        "Was habe ich heute über das Wetter gesagt?",
        "qu'est-ce que j'ai dit aujourd'hui sur la météo ?",
        "¿qué dije hoy sobre el tiempo?",
        "o que eu disse hoje sobre o tempo?",
        "cosa ho detto oggi sul meteo?",
        "bugün hava durumu hakkında ne dedim?",
        "что я сказал сегодня о погоде?",
        "ماذا قلت اليوم عن الطقس؟",
        "मैंने आज मौसम के बारे में क्या कहा?",
        "我今天说了什么关于天气的？",
    ],
)
async def test_a_question_about_the_conversation_does_not_search(text: str) -> None:
    assert (await check(text)).needed is False


@pytest.mark.parametrize(
    "text",
    [
        "Search for my favourite band's tour",
        "hi, can you look up the train times?",
        "google it",
        "Google cheap pans",
        "Please search the web: rust 2.0",
        "Write a poem, then look up who painted this",
    ],
)
async def test_an_explicit_request_searches(text: str) -> None:
    outcome = await check(text)
    assert (outcome.needed, outcome.decided_by) == (True, "user")


@pytest.mark.parametrize(
    "text",
    ["people I look up to", "a crew that went to search for gold", "compare the A7, Google Pixel and B8"],
)
async def test_the_same_words_inside_a_sentence_are_no_request(text: str) -> None:
    assert (await check(text)).decided_by == "keywords"


@pytest.mark.parametrize(
    "text",
    [
        "Don't search, just tell me: what is the latest Python?",
        "Without searching the web, search for a word in this: latest news today",
        "what’s new today? don’t google",
    ],
)
@pytest.mark.parametrize("mode", ["auto", "always"])
async def test_an_opt_out_always_wins(text: str, mode: str) -> None:
    outcome = await check(text, web_search=mode)
    assert (outcome.needed, outcome.decided_by) == (False, "user")


async def test_settings_decide() -> None:
    off = await check("search for the latest news", web_search="off")
    assert (off.needed, off.decided_by) == (False, "setting")
    always = await check("How do magnets work?", web_search="always")
    assert (always.needed, always.decided_by, always.query) == (True, "setting", "How do magnets work?")


async def test_the_threshold_is_the_sum_that_is_needed() -> None:
    text = "latest weather"
    assert (await check(text, keyword_threshold=2.0)).needed is True
    assert (await check(text, keyword_threshold=2.5)).needed is None
    assert (await check("What is a quasar?", keyword_threshold=0.0)).needed is True
    assert (await check("hi", keyword_threshold=0.0)).needed is False


@pytest.mark.parametrize(
    "text",
    [
        "Does this run?\n```\nprint('latest news today')\n```",
        "Does this run?\n```\nprint('latest news today')",
        "does `latest` sort first",
        "is https://example.org/latest/news/today up",
        "a latestness of currents",
    ],
)
async def test_code_addresses_and_parts_of_words_hold_no_signs(text: str) -> None:
    assert not [sign for sign in (await check(text)).signs if sign.kind == "temporal"]


async def test_words_beside_scripts_without_spaces_are_found() -> None:
    assert (await check("東京のlatestニュース")).needed is True


async def test_the_middle_of_a_long_message_holds_no_signs() -> None:
    filler = "word " * 400
    assert (await check(f"{filler} latest news {filler}")).needed is not True
    assert (await check(f"{filler} What is the latest weather?")).needed is True


async def test_the_query_is_one_line_of_at_most_400_characters() -> None:
    query = (await check("  search for\n" + "pans " * 200)).query
    assert query is not None
    assert query.startswith("search for pans")
    assert 390 <= len(query) <= 400
    image = [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "what is this?"}]
    assert (await check(image)).query in {None, "what is this?"}


async def test_without_a_user_message_nothing_is_searched() -> None:
    assert newest_question([AIMessage("hi")]) == ""
    assert (await read_words({"messages": []}, Settings())).needed is False


async def test_broken_word_lists_do_not_fail_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("no such file")

    monkeypatch.setattr(keywords, "word_lists", broken)
    outcome = await check("latest news")
    assert outcome.needed is None
    assert "OSError" in outcome.reason


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    reading = keywords.read_question(text, 2026)
    assert all(sign.found and sign.weight for sign in reading.signs)
    assert reading.languages <= {file.stem for file in LISTS}


@pytest.mark.parametrize("text", ["`" * 200_000, "latest " * 50_000, "a@" * 100_000, "~~~" * 50_000, "[" * 200_000])
def test_reading_a_huge_message_is_quick(text: str) -> None:
    keywords.read_question("", 2026)  # reads the word lists from disk
    assert seconds(lambda long: keywords.read_question(long, 2026), text) < 1.0


def test_the_words_of_many_phrases_are_those_of_each_alone() -> None:
    phrases = [
        text.replace("*", "")
        for file in (FOLDER / "search").glob("*.json")
        for texts in json.loads(file.read_text(encoding="utf-8")).values()
        for text in texts
    ]
    assert lines("\n".join(phrases)) == [tuple(split(phrase).words) for phrase in phrases]


@given(text=st.text(st.characters(codec="ascii")))
def test_ascii_has_the_same_words_beside_other_letters(text: str) -> None:
    assert [*split(text).words, "ж"] == split(f"{text} ж").words


def test_combining_marks_belong_to_their_word() -> None:
    assert split("का क").words == ["का", "क"]
    assert split("S&P 500, don't").words == ["s", "&", "p", "500", ",", "don't"]


def test_letters_without_spaces_are_words_and_turkish_letters_match_in_any_case() -> None:
    assert split("今日の天気").words == ["今", "日", "の", "天", "気"]
    assert split("IĞDIR ılık İyi").words == split("ığdır ILIK iyi").words


LISTS = sorted((FOLDER / "search").glob("*.json"))


def test_the_languages_of_the_seed_have_lists() -> None:
    assert {file.stem for file in LISTS} >= {"en", "de", "fr", "es", "pt", "it", "tr", "ru", "ar", "hi", "zh", "ja"}


@pytest.mark.parametrize("file", LISTS, ids=lambda file: file.stem)
def test_the_word_lists_are_well_formed(file: Path) -> None:
    groups = json.loads(file.read_text(encoding="utf-8"))
    weights = json.loads(Path(wordlists.__file__).with_name("sign_weights.json").read_text(encoding="utf-8"))
    assert {"temporal", "information", "domain"} <= {weights[group]["kind"] for group in groups if group in weights}
    for group in ("explicit", "opt_out", "chat"):
        assert groups[group], f"{group} is empty"
    for group, phrases in groups.items():
        assert len(phrases) == len(set(phrases)), f"{group} holds a phrase twice"
        assert all(split(phrase.replace("*", "")).words for phrase in phrases)
