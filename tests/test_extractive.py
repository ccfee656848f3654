"""The extractive core: splitting, matching and summarizing, in many scripts and for any text."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from variants import each

from everthread.text.extractive import best_sentences, extract_summary
from everthread.text.fold import bare, fold
from everthread.text.sentences import sentences
from everthread.text.stems import stem
from everthread.text.tokens import estimate_tokens
from everthread.text.words import pieces, single_words, words

ANY_TEXT = st.text(st.characters() | st.characters(categories=["Cs"]) | st.sampled_from("\x00.!?。 \n`'"), max_size=200)
TALK = [
    ("user", "Hi! My name is Ada Lovelace and I moved to Lisbon on 4 March 2021. The weather is nice."),
    ("assistant", "Nice to meet you, Ada! How do you like Lisbon so far? Is there anything I can do?"),
    (
        "user",
        "I like it a lot. I work at the harbour as an engineer. My dog Biscuit has an operation on Friday at 9:40.",
    ),
    ("assistant", "I hope that Biscuit's operation goes well. Let me know how it went."),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t ", []),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith paid 3.50. He left at 5 p.m. on Monday.", ["Dr. Smith paid 3.50.", "He left at 5 p.m. on Monday."]),
        ("See e.g. this one, by J. R. Tolkien. Good.", ["See e.g. this one, by J. R. Tolkien.", "Good."]),
        ('"Really?" she asked. Yes…', ['"Really?" she asked.', "Yes…"]),
        ("你好吗？我很好。谢谢！", ["你好吗？", "我很好。", "谢谢！"]),
        ("「はい。」と言った。そうです", ["「はい。」", "と言った。", "そうです"]),
        ("كيف حالك؟ أنا بخير. شكرا", ["كيف حالك؟", "أنا بخير.", "شكرا"]),
        ("यह घर है। वह कुत्ता है।", ["यह घर है।", "वह कुत्ता है।"]),
        ("a line\nanother\r\nthird", ["a line", "another", "third"]),
        ("Look:\n```py\nx = 1. Y\n\nz\n```\nDone.", ["Look:", "```py\nx = 1. Y\n\nz\n```", "Done."]),
    ],
)  # fmt: skip
def test_sentences(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The user's Dogs", ["The", "user's", "Dogs"]),
        ("3.14 on 2024-05-06 at 9:40, 4th", ["3", "14", "on", "2024", "05", "06", "at", "9", "40", "4th"]),
        ("我的狗 x", ["我的狗", "x"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("snake_case l’été", ["snake", "case", "l’été"]),
        ("!!! 🙂", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


CITIES = "Oslo", "Rome", "Lima", "Cork", "Graz", "Turku"


def test_single_words_and_pieces():
    assert single_words("我的狗 isn't") == ["我", "的", "狗", "isn", "t"]
    assert pieces("At 9:40, 我 don't.\n") == ["At", "9:40", ",", "我", "don't", ".", "\n"]


def test_folds():
    assert fold("CAFE\u0301 Straße ｆｕｌｌ l’Été") == "café strasse full l'été"
    assert bare("CAFE\u0301 Straße й") == "cafe strasse и"
    assert {fold(text) for text in ("IĞDIR", "ığdır", "iğdir", "İĞDİR")} == {"iğdir"}


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "ru", "tr", None, "pl", "xx"])
def test_stems_of_any_language(language):
    assert stem("running", "en") == "run"
    assert stem("schwestern", "de") == "schwest"
    assert stem("wörter", language)


@given(ANY_TEXT)
def test_sentences_lose_nothing(text):
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(ANY_TEXT)
def test_words_are_words_of_any_text(text):
    assert all(word and not word.isspace() for word in words(text))


@pytest.mark.parametrize(
    ("question", "texts", "best"),
    [
        ("What is my dog called?", ["What is my dog called", "My dog is called Biscuit."], "My dog is called Biscuit."),
        ("Where do my sisters live?", ["My sister lives in Porto.", "I live here too."], "My sister lives in Porto."),
        ("我的狗叫什么名字？", ["我的妹妹是护士。我的狗叫饼干。"], "我的狗叫饼干。"),
        ("犬の名前は何ですか？", ["私の妹は看護師です。犬の名前はビスケットです。"], "犬の名前はビスケットです。"),
        ("Как зовут мою собаку?", ["Я живу в Москве. У меня есть собака Бублик."], "У меня есть собака Бублик."),
        ("ما اسم كلبي؟", ["أحب الشاي. اسم كلبي بسكويت."], "اسم كلبي بسكويت."),
        ("หมาของฉันชื่ออะไร", ["ฉันชอบดื่มชา", "หมาของฉันชื่อบิสกิต"], "หมาของฉันชื่อบิสกิต"),
        ("When is the flight?", ["Is the flight late?", "The flight is at 9:40."], "The flight is at 9:40."),
    ],
)  # fmt: skip
def test_the_best_sentence(question, texts, best):
    assert best_sentences(question, texts, 3)[0] == best


@pytest.mark.parametrize("question", ["How old is my cat?", "", "?!", "the of and", "What is my dog called?"])
def test_no_match_is_empty(question):
    assert best_sentences(question, ["What is my dog called?", "The user likes tea."], 3) == []


def test_the_limit_holds():
    texts = [f"The dog number {number} barks." for number in range(10)]
    assert len(best_sentences("Which dog barks?", texts, 4)) == 4
    assert best_sentences("Which dog barks?", texts, 0) == []


def test_a_summary_keeps_names_and_numbers_in_order():
    source = sum(estimate_tokens(text) for _, text in TALK)
    summary = extract_summary(TALK, 60)
    assert estimate_tokens(summary) <= min(60, source)
    assert summary.startswith("user: ")
    assert 0 < summary.index("Lisbon on 4 March 2021") < summary.index("Biscuit has an operation on Friday")
    assert extract_summary(TALK, 60) == summary


def test_a_summary_does_not_repeat_itself():
    turns = [("user", "My dog Biscuit is ill."), ("assistant", "I am sorry that Biscuit is ill.")] * 20
    assert extract_summary([*turns, ("user", "The train to Porto leaves at 9:40.")], 60).count("My dog Biscuit") == 1


def test_of_summaries_the_oldest_does_not_weigh_more():
    older = "Clara moved to Lisbon in May. Tom bought a red kayak in Porto. Priya lost her violin on the train."
    newer = "Kenji paints old maps of Vienna. Amara sold the boat to Luca."
    assert "Kenji paints" in extract_summary([("", older), ("", newer)], 28)


def test_a_summary_of_summaries_covers_the_span_and_not_its_end():
    """Each has as much of the room as it stands for."""
    long_past = " ".join(
        f"Ada: In {year} I moved to {city}." for year, city in zip(range(2001, 2007), CITIES, strict=True)
    )
    lately = " ".join(
        f"Ben: On {day} May I met {name} in the park." for day, name in enumerate(("Kim", "Lu", "Mo", "Nia"), 1)
    )
    summary = extract_summary([("", long_past), ("", lately)], 60, covers=[300, 30])
    assert summary.count("moved to") >= 3
    assert summary.count("in the park") <= 1


def test_a_summary_of_summaries_keeps_who_said_what_and_leaves_cheers_and_captions():
    older = "Ada: Wow, amazing! Yeah, cool! My exam is on 4 May in Porto. [shares a photo: a photo of a red cat]"
    newer = "Ben: The boat was sold to Luca for 900 euros. So nice! Ada: Great, thanks Ben!"
    summary = extract_summary([("", older), ("", newer)], 28)
    assert "Ada: My exam is on 4 May in Porto." in summary
    assert "Ben: The boat was sold to Luca for 900 euros." in summary
    assert not any(filler in summary for filler in ("photo", "Wow", "cool", "thanks"))


@pytest.mark.parametrize("names", [("user", "assistant"), ("Ada", "Ben"), ("ada", "ben")])
def test_a_summary_of_summaries_is_of_all_of_them_whatever_the_names_are(names):
    said = ["The harbour opens at nine", "Two boats were sold to Luca", "The crane is broken", "Rita paints the pier"]
    summaries = [
        ("", f"{names[0]}: {one} on Monday morning. {names[1]}: Good to know about {number} then.")
        for number, one in enumerate(said, start=1)
    ]
    summary = extract_summary(summaries, 60, [9, 9, 9, 9])
    assert sum(one in summary for one in said) >= 3


def test_what_the_user_said_weighs_more_than_advice_in_lists():
    talk = [
        ("user", "My mother Rosario retired in April and wants to learn the accordion."),
        ("assistant", "# Plan\n\n1. **Practice**: Ten minutes each day.\n\n| Day | Song |\n|---|---|\n| May | Waltz |"),
        ("user", "Her teacher is called Bruno."),
    ]
    summary = extract_summary(talk, 40)
    assert "Rosario" in summary
    assert "Bruno" in summary
    assert "|" not in summary


def test_of_a_quotation_nothing_stands_without_its_marks():
    talk = [("user", "Look at this: «The clinic is new. I live in Chile and work with doctor Araya. It opens.» Odd!")]
    assert "I live in Chile" not in extract_summary(talk, 40)


def test_what_the_talk_begins_with_weighs_more():
    said = [
        "They plan a party near the old fountain.", "The neighbours bring wooden benches and lamps.",
        "The bakery delivers three lemon cakes early.", "My brother plays guitar near the gate.",
        "Her colleagues bring flowers, candles, records.",
    ]  # fmt: skip
    talk = [("assistant" if position % 2 else "user", text) for position, text in enumerate(said)]
    assert "plan a party" in extract_summary(talk, 24)
    assert "plan a party" not in extract_summary([("", text) for text in said], 24)


def test_an_endless_sentence_is_cut_at_a_word():
    summary = extract_summary([("user", "harbour " * 5000)], 40)
    assert summary.endswith("harbour…")
    assert estimate_tokens(summary) <= 40


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), ANY_TEXT), max_size=6), st.integers(1, 80))
def test_a_summary_of_anything(turns, limit):
    summary = extract_summary(turns, limit)
    source = " ".join(text for _, text in turns)
    assert estimate_tokens(summary) <= limit
    assert bool(summary) == bool(source.strip())
    if len(source.split()) > 12:
        assert len(summary) < len(source)


@pytest.mark.parametrize(
    "unit",
    each(["word ", "我的狗", "Ada met Bob on 4 May. ", "a", "a. ", "1", "x'", ".", "`", " ."], quick=3),
    ids=repr,
)
def test_a_megabyte_is_summarized_fast(unit):
    text = (unit * (1_000_000 // len(unit)))[:1_000_000]
    started = time.process_time()
    summary = extract_summary([("user", text)], 150)
    assert time.process_time() - started < 6
    assert 0 < estimate_tokens(summary) <= 150


@pytest.mark.slow
def test_a_megabyte_of_different_sentences_is_summarized_fast():
    turns = [
        ("user", f"Person{n} met {json.dumps(n * 7919)} people in town {n % 97}. They went on.") for n in range(17_000)
    ]
    started = time.process_time()
    assert extract_summary(turns, 150)
    assert time.process_time() - started < 6
