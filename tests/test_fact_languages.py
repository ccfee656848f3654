"""Facts of chats in other languages than English: what lasts is told, events, moods and fragments are not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from fact_clauses import CHAT, Change, labelled, scores

from everthread.facts.extraction import Occasion, extract
from everthread.facts.language import folded_source, languages
from everthread.state.fact_records import Fact
from everthread.state.records import now


def told(text: str) -> list[Fact]:
    return extract(text, Occasion("t", "m", now()))


@pytest.mark.parametrize("code", sorted(languages()))
def test_each_part_of_a_list_is_a_pattern_by_itself(code: str) -> None:
    """A comma and a space within brackets would part it into two halves, which swallow what stands between them."""
    data = languages()[code].data
    lists = [value for name, value in data.items() if isinstance(value, str) and name not in {"expand", "meant"}]
    for text in (*lists, *data["predicates"].values(), *data.get("attribute_words", {}).values()):
        for part in filter(None, text.split(", ")):
            assert re.compile(folded_source(part)).flags


def test_what_chat_is_full_of_is_no_fact_in_other_languages_either() -> None:
    by_language = scores(labelled(file=CHAT))
    assert by_language["all"].precision >= 0.93
    assert by_language["all"].recall >= 0.95


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("Je viens de Nantes.", "origin", "nantes"),
        ("Seit 2010 wohne ich in Kiel.", "home", "kiel"),
        ("Seit 2015 bin ich verheiratet.", "status", "verheiratet"),
        ("Seit 2010 arbeite ich bei Siemens.", "employer", "siemens"),
        ("I live in Lyon, not Lille.", "home", "lyon"),
        ("我叫王芳。", "name", "王芳"),
    ],
)
def test_an_attribute_has_its_value(text: str, attribute: str, value: str) -> None:
    assert [(fact.attribute, fact.value) for fact in told(text)] == [(attribute, value)]


@pytest.mark.parametrize(
    "text",
    [
        "Je viens de terminer un livre.",
        "我昨天做了一道菜，叫做清蒸鲈鱼。",
        "我是一个喜欢旅行的人。",
        "我最近在考虑换工作。",
        "Saya bekerja untuk uang.",
        "나는 언젠가 그곳에서 일하고 싶어.",
        "Vengo de comprar el pan.",
        "Als ich 16 war, bin ich gern gewandert.",
    ],
)
def test_no_name_origin_age_or_employer_is_made_up(text: str) -> None:
    assert {fact.attribute for fact in told(text)}.isdisjoint({"name", "origin", "age", "employer", "home"})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("أنا أدخن", "توقفت عن التدخين"),
        ("أسبح كل يوم", "توقفت عن السباحة"),
        ("أكتب الشعر", "توقفت عن كتابة الشعر"),
    ],
)
def test_the_noun_of_an_arabic_verb_ends_what_the_verb_tells(before: str, after: str) -> None:
    assert Change("ends", "ar", before, after).is_right


@pytest.mark.parametrize(
    ("before", "after"),
    [("عندي كلب", "توقفت عن الأكل"), ("أعيش في دبي", "توقفت عن التدخين"), ("Saya punya kuda", "Saya tidak takut mati")],
)
def test_another_root_ends_nothing(before: str, after: str) -> None:
    assert Change("stays", "", before, after).is_right


def test_few_words_are_read_in_the_language_in_which_they_say_something() -> None:
    assert [fact.attribute for fact in told("Tenemos dos perros")] == ["count perr"]
    assert told("Toco violino")
    assert told("Tengo hambre") == []
    assert told("Adoro questa idea") == []
