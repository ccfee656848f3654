"""What of a summarizer's text is taken: seed 002's checks in any language, its scores, lenient reading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from everthread.compression.acceptance import prefix_hash, text_hash, vocabulary_share, why_rejected
from everthread.compression.drafts import FactDraft, read_draft
from everthread.compression.importance import score_importance
from everthread.compression.source import in_parts, shortened_source, source_text, turns_of
from everthread.text.extractive import extract_summary as extract
from everthread.text.tokens import estimate_tokens

SOURCE = """user: My mother is 82 and forgets her blood pressure pills. How do I manage the medication of a parent?
assistant: Create a schedule with fixed times for each medication, use a pill organizer with one box a day, and track
side effects in a notebook so that her doctor can see them. An elderly parent often needs a reminder by telephone.
user: She takes Lisinopril 10mg at 8am. Is a pill organizer enough?
assistant: With one medication it is, together with a reminder. Write down dizziness, which is its commonest effect."""

GOOD = (
    "User asked about medication management for elderly parent. Discussed creating a schedule, tracking side effects, "
    "and using pill organizers."
)
POEM = """Title: A Spring Day

In fields where flowers gently sway,
The sun shines bright on this spring day.
With colors vibrant, nature's art,
Brings warmth and joy to every heart."""


def verdict(summary: str, source: str = SOURCE, *, local: bool = False) -> str | None:
    return why_rejected(summary, source, max_chars=2000, local=local)


def test_the_seeds_valid_summary_is_taken_and_its_poem_is_not() -> None:
    """Seed 002, "Validation Examples"."""
    assert verdict(GOOD) is None
    assert verdict(POEM) == "it is a story"
    assert verdict(POEM.split("\n\n")[1]) is not None


def test_the_seeds_ratio_of_a_local_models_summary_holds() -> None:
    """Seed 002, "Compression Ratio": of 1,000 characters, 400 are too many and 150 are not; never more than 300."""
    source = ("the user spoke of roses and tulips in the garden near the house " * 16)[:1000]
    summary = "the user spoke of roses and tulips in the garden near the house and "
    assert verdict((summary * 6)[:400], source, local=True) == "it has 400 characters, and may have 300"
    assert verdict((summary * 3)[:150], source, local=True) is None
    assert verdict((summary * 6)[:301], source * 5, local=True) == "it has 301 characters, and may have 300"
    assert verdict((summary * 6)[:400], source) is None


@pytest.mark.parametrize(
    ("summary", "reason"),
    [
        ("", "it is empty"),
        (" \n . ", "it is empty"),
        ("Error generating summary: connection refused", "it is an error text"),
        ("500 Internal Server Error", "it is an error text"),
        ('{"error": {"message": "quota exceeded"}}', "it is an error text"),
        ("I'm sorry, but I can't help with that.", "it is a refusal"),
        ("As an AI language model, I cannot give medical advice.", "it is a refusal"),
        ("Es tut mir leid, dabei kann ich nicht helfen.", "it is a refusal"),
        ("抱歉，我无法总结这段对话。", "it is a refusal"),
        ("Извините, я не могу помочь с этим.", "it is a refusal"),
        ("آسف، لا أستطيع المساعدة في ذلك.", "it is a refusal"),
        ("Here's a poem about your mother and her pills.", "it is a reply, not a summary"),
        ("Certainly! A pill organizer is enough for one medication.", "it is a reply, not a summary"),
        ("Let me tell you about schedules for medication.", "it is a reply, not a summary"),
        ("I'll create a schedule for the medication of a parent.", "it is a reply, not a summary"),
        ("Once upon a time a mother forgot her pills.", "it is a story"),
        ("Es war einmal eine Mutter, die ihre Pillen vergaß.", "it is a story"),
        ("从前有一位母亲。", "it is a story"),
        ("Chapter 1: the pills of the mother.", "it is a story"),
        ("```\nschedule of medication\n```", "it is not plain sentences"),
        ("1. Medication schedule\n2. Pill organizer", "it is not plain sentences"),
        ("**The Pill Organizer**\nA parent needs a reminder.", "it is not plain sentences"),
        ("Mother Mary:\nWhere are my pills?", "it is not plain sentences"),
        ("Der Benutzer fragte nach Tabletten seiner Mutter und bekam Ratschläge.", "it shares"),
        ("El usuario preguntó por las pastillas de su madre anciana.", "it shares"),
        (SOURCE + " And more.", "it is not shorter than its source"),
    ],
)
def test_what_cannot_stand_for_its_source_is_refused_with_the_reason(summary: str, reason: str) -> None:
    found = verdict(summary)
    assert found is not None
    assert found.startswith(reason)


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("user: 我的狗叫饼干，它喜欢游泳。\nassistant: 饼干真可爱！你们常去哪里游泳？\nuser: 我们周末去西湖。",
         "用户的狗叫饼干，喜欢游泳，周末去西湖。"),
        ("user: Собаку зовут Бисквит, она любит плавать в озере.\nassistant: Где это озеро?\nuser: Под Казанью.",
         "Собака Бисквит любит плавать в озере под Казанью."),
        ("user: Köpeğimin adı Bisküvi, gölde yüzmeyi çok seviyor.\nassistant: Hangi gölde?\nuser: Sapanca'da.",
         "Bisküvi adlı köpek Sapanca gölünde yüzmeyi seviyor."),
        ("user: كلبي اسمه بسكويت ويحب السباحة في البحيرة كل يوم جمعة.\nassistant: جميل! أين البحيرة؟",
         "كلب المستخدم بسكويت يحب السباحة في البحيرة."),
        ("user: Error 500 when I save the form.\nassistant: Error 500 comes from the server; look at its log file.",
         "Error 500 on saving the form; the server's log should show why."),
        ("user: Write a poem about the sea.\nassistant: The sea is wide,\nThe sea is blue,\nThe waves abide\nAs I do.",
         "The assistant wrote a poem about the sea, wide and blue."),
    ],
)  # fmt: skip
def test_a_fair_summary_is_taken_in_any_language(source: str, summary: str) -> None:
    assert verdict(summary, source * 3) is None


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("用户：我下周五飞往里斯本，需要港口附近的酒店。\n助手：我推荐极光酒店，港口旁边，很安静。",
         "用户下周五飞往里斯本，选择港口旁的极光酒店。"),
        ("المستخدم: أحتاج إلى فندق قريب من الميناء القديم ليوم الجمعة.\nالمساعد: أقترح فندق الفجر القريب من الميناء.",
         "يحتاج المستخدم إلى فندق قريب من الميناء واقترح المساعد فندق الفجر."),
        ("Kullanıcı: Cuma günü Lizbon'a uçuyorum, limana yakın bir otel lazım.\nAsistan: Aurora oteli limana yakın.",
         "Kullanıcı cuma günü Lizbon'a uçuyor; limana yakın Aurora oteli önerildi."),
    ],
)  # fmt: skip
def test_a_summary_is_judged_in_its_own_language(source: str, summary: str) -> None:
    assert verdict(summary, source) is None
    assert verdict("The weather will be nice and everyone is happy today in the big city.", source)


def test_a_summary_is_in_a_language_of_the_conversation_whatever_names_it_holds() -> None:
    english = "user: I moved to Lisbon in May 2021 and work at São José. My sister Clara lives in Porto."
    german = "assistant: Das ist schön, wie oft kommt deine Schwester Clara mit dem Zug nach Lisbon?"
    summary = "Der Benutzer zog im Mai 2021 nach Lisbon und arbeitet im São José; Clara lebt in Porto."
    assert verdict(summary, english) == "it is in another language"
    assert verdict(summary, f"{english}\n{german}") is None
    assert verdict("The user works at São José; Clara lives in Porto.", f"{german}\n{english}") is None
    assert verdict("São José, Lisbon, Porto, Clara, May 2021", english) is None


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_can_be_judged_and_read(summary: str, source: str) -> None:
    assert why_rejected(summary, source, max_chars=500) != ""
    assert 0.0 <= vocabulary_share(summary, source) <= 1.0
    assert isinstance(read_draft(summary).text, str)


def test_the_same_words_as_a_standing_summary_are_a_repetition_and_the_same_beginning_is_none() -> None:
    """Seed 004 hashes 120 characters against doubles; a summary made from the last one and more begins like it."""
    longer = GOOD + " Then the pills were counted."
    assert prefix_hash(GOOD.upper()) == prefix_hash(longer)
    standing = [text_hash(GOOD)]
    assert why_rejected(GOOD.upper(), SOURCE, max_chars=2000, standing=standing) == "it repeats an earlier summary"
    assert why_rejected(longer, SOURCE, max_chars=2000, standing=standing) is None


@pytest.mark.parametrize(
    ("summary", "reason"),
    [
        ("Error generating summary.", "it is an error text"),
        ("I can't help with the script.", "it is a refusal"),
        ("The user cannot sleep since 2019, and has an error in a script.", "it has a number that was not said: 2019"),
        ("{'summary': 'The user cannot sleep, and has an error in a script.'}", "it is not plain sentences"),
        ('["The user cannot sleep.", "There is an error in the script."]', "it is not plain sentences"),
        ("Error in the script of the user, who cannot sleep since ٢٠٢١.", None),
        ("I can't sleep, said the user; the script has an error since 2,021 days.", None),
        ("The user cannot sleep; the script with the error has 4000 lines.", None),
    ],
)
def test_words_of_the_source_excuse_no_error_no_refusal_and_no_number(summary: str, reason: str | None) -> None:
    """Report langchain #38867, where the conversation itself is about errors."""
    source = (
        "user: I can't sleep since 2021: there is an error in the script of the summary, all four thousand lines.\n"
        'assistant: Of course I can help with the script and with the error: {"summary": []}'
    )
    assert verdict(read_draft(summary).text, source) == reason


def test_too_little_said_is_no_reason_to_refuse() -> None:
    assert vocabulary_share("The user agreed.", "user: ok\nassistant: ok") == 1.0


@pytest.mark.parametrize(
    ("reply", "summary", "facts"),
    [
        ("Summary: The dog is called Biscuit.", "The dog is called Biscuit.", 0),
        ("## Summary\n\nThe dog is called Biscuit.", "The dog is called Biscuit.", 0),
        ("**Zusammenfassung**\nDer Hund heißt Keks.", "Der Hund heißt Keks.", 0),
        ("First, the dog's name.</think>\n\nThe dog is called Biscuit.", "The dog is called Biscuit.", 0),
        ("<excerpt id=12ab>\nThe dog is called Biscuit.\n</excerpt id=12ab>", "The dog is called Biscuit.", 0),
        ('```json\n{"summary": "The dog is called Biscuit.", "facts": [{"ki', "The dog is called Biscuit.", 0),
        ("Here is a summary of the conversation:\nThe dog swims.", "The dog swims.", 0),
        ("**Zusammenfassung:** Der Hund schwimmt.", "Der Hund schwimmt.", 0),
        ("<think>Let me see.</think>The dog swims.", "The dog swims.", 0),
        ('{"summary": "A dog.", "facts": [{"kind": "Preference", "text": "I love dogs"}]}', "A dog.", 1),
        ('```json\n{"summary": "The dog swims.", "facts": []}\n```', "The dog swims.", 0),
        ('Sure:\n{"summary": "The dog\n swims.\x07", "facts": null}', "The dog\n swims.", 0),
        ('{"summary": "The dog \\"Biscuit\\" swims and then it', 'The dog "Biscuit" swims and then it', 0),
        ('{"summary": "x", "facts": [{"kind": "rumour", "text": "a"}, 3, {"kind": "goal"}, '
         '{"kind": "goal", "text": "b"}]}',
         "x", 1),
        ('{"summary": "x", "facts": [{"kind": "goal", "text": "Run"}, {"kind": "goal", "text": "run"}]}', "x", 1),
        ("nul\x00 and \ud83d alone", "nul and \ufffd alone", 0),
        ("", "", 0),
    ],
)  # fmt: skip
def test_a_reply_is_read_as_json_or_as_text(reply: str, summary: str, facts: int) -> None:
    """Reports mem0 #4420, #4525: control characters and chatty text broke the parsing."""
    draft = read_draft(reply)
    assert (draft.text, len(draft.facts)) == (summary, facts)
    assert all(isinstance(fact, FactDraft) for fact in draft.facts)


@pytest.mark.parametrize(
    ("message", "score"),
    [
        (HumanMessage("Thanks!"), 0.5),
        (HumanMessage("Can you explain how authentication works?"), 0.7),
        (HumanMessage("What a day"), 0.7),
        (HumanMessage("whatever"), 0.5),
        (HumanMessage("Here is my function:\n```typescript\nfunction test() {}\n```"), 0.65),
        (HumanMessage("How do I fix this error?"), 0.8),
        (HumanMessage("How do I fix this error in my function? Here's the code:\n```typescript\n"
                      "function calculateTotal() {\n  // error: undefined is not a function\n"
                      "  return items.reduce(...)\n}\n```\n"), 0.95),
        (HumanMessage("How do I fix this error in my function? " + "x" * 200), 1.0),
        (AIMessage("It works."), 0.55),
        (AIMessage("a" * 201), 0.65),
        (HumanMessage("为什么出现错误"), 0.8),
        (HumanMessage("Wie behebe ich diesen Fehler"), 0.8),
        (HumanMessage("Почему возникает ошибка в классе?"), 0.95),
        (HumanMessage("classic music"), 0.5),
        (HumanMessage([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]), 0.5),
    ],
)  # fmt: skip
def test_importance_is_scored_by_the_seeds_table(message: AnyMessage, score: float) -> None:
    """Seed 002, "Scoring Breakdown"; its two code examples give 0.95 and 0.65 by the table."""
    assert score_importance(message) == score


def test_what_is_larger_than_a_window_comes_in_parts_that_fit_and_hold_everything() -> None:
    """Reports langmem (the oldest silently dropped), letta #3279."""
    turns = [("user", f"message number {n} about topic {n}") for n in range(200)]
    turns.insert(100, ("user", " ".join(f"word{n}" for n in range(2000))))
    parts = in_parts(turns, 300)
    assert all(sum(estimate_tokens(f"{speaker} {text}") for speaker, text in part) <= 330 for part in parts)
    joined = " ".join(text for part in parts for _, text in part)
    assert all(f"message number {n} about" in joined for n in range(200))
    assert all(f"word{n}" in joined.split() for n in range(2000))


def test_of_far_too_much_every_turn_is_still_told() -> None:
    turns = [("user", f"Short remark {n}.") for n in range(20)]
    turns.append(("user", "A long text about whales. " + "The whale dives deep into the ocean. " * 20_000))
    told = shortened_source(turns, 2000)
    assert told[:20] == turns[:20]
    assert estimate_tokens(source_text(told)) < 2200
    assert "whale" in told[-1][1]


def test_a_tool_call_is_told_with_its_arguments_and_no_metadata() -> None:
    """Report langchain #34517: metadata inflated the summarizer's prompt."""
    call = AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}], id="x")
    assert source_text(turns_of([call])) == 'assistant: [calls weather {"city": "Oslo"}]'


def test_the_extractive_fallback_is_deterministic_for_the_seeds_fifteen_messages() -> None:
    """Seed 002, "createFallbackSummary": 8 of the user, 7 of the assistant; ours quotes instead of naming topics."""
    turns = [
        ("user", f"How do I set up the database table number {n}?")
        if n % 2 == 0
        else ("assistant", f"Create table {n} with SQL and an index on column {n}.")
        for n in range(15)
    ]
    first = extract(turns, 200)
    assert first == extract(turns, 200)
    assert verdict(first, source_text(turns)) is None
