"""A floor under what facts get right without a model: on sentences and changes that the lists were not tuned on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from fact_clauses import PLAIN, Change, changes, labelled, scores

from everthread.facts.extraction import Occasion, extract
from everthread.state.records import now


def test_what_is_taken_for_a_fact_is_one_and_few_are_missed() -> None:
    by_language = scores(labelled("kept"))
    assert by_language["all"].precision >= 0.92
    assert by_language["all"].recall >= 0.85
    assert by_language["en"].precision >= 0.9


@pytest.mark.parametrize("outcome", ["ends", "stays", "doubts"])
def test_what_is_said_later_ends_doubts_or_leaves_what_it_tells_of(outcome: str) -> None:
    pairs = [pair for pair in changes("kept") if pair.outcome == outcome]
    assert sum(pair.is_right for pair in pairs) / len(pairs) >= 0.9


def test_what_chat_is_full_of_is_no_fact_and_what_lasts_beside_it_is() -> None:
    lines = (Path(__file__).parents[1] / "bench" / "fact_chat.txt").read_text(encoding="utf-8").splitlines()
    taken = {line: bool(extract(line[2:], Occasion("t", "m", now()))) for line in lines}
    assert sum(taken[line] for line in taken if line[0] == "-") <= 0.05 * len(taken)
    assert sum(taken[line] for line in taken if line[0] == "+") >= 0.9 * sum(line[0] == "+" for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        "We are all in this together.",
        "They are my escape from reality.",
        "My family is awesome.",
        "I'm definitely considering giving it a try.",
    ],
)
def test_cheer_thanks_and_moods_are_no_facts(text: str) -> None:
    assert extract(text, Occasion("t", "m", now())) == []


def test_what_is_asked_for_is_a_fact_whatever_it_says() -> None:
    at = Occasion("t", "m", now())
    assert extract("We are all in this together.", at, origin="user")


def test_plain_self_descriptions_are_facts_in_each_language() -> None:
    by_language = scores(labelled(file=PLAIN))
    assert by_language["all"].recall >= 0.95
    assert all(score.recall >= 0.8 for score in by_language.values())


@pytest.mark.parametrize(
    "text",
    [
        "I won't give up.",
        "I'm not gonna give up on my dreams.",
        "I heard David has been fired.",
        "I can't stand it anymore.",
    ],
)
def test_what_only_sounds_like_an_end_ends_nothing(text: str) -> None:
    assert extract(text, Occasion("t", "m", now())) == []


@pytest.mark.parametrize("text", ["Je fume.", "Sono vegana.", "Falo galego.", "Eu pinto."])
def test_a_few_words_are_read_where_no_detector_tells_their_language(text: str) -> None:
    assert extract(text, Occasion("t", "m", now()))


@pytest.mark.parametrize("text", ["Non so.", "No sé.", "No idea.", "Oui je sais.", "Estoy aquí."])
def test_a_few_words_that_answer_tell_nothing(text: str) -> None:
    assert extract(text, Occasion("t", "m", now())) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I have a boyfriend.", "We split up in March."),
        ("I have a car.", "Sold the car on Saturday."),
        ("I work at Lidl.", "I left Lidl for another company."),
        ("Ich habe ein Auto.", "Gestern habe ich mein Auto verkauft."),
        ("J'ai une copine.", "On s'est séparés."),
        ("Moro em Braga.", "Mudei-me para o Porto."),
    ],
)
def test_everyday_words_for_an_end_end_what_they_tell_of(before: str, after: str) -> None:
    assert Change("ends", "", before, after).is_right


@pytest.mark.parametrize(
    "text",
    [
        "Always format dates as Month Day, Year when I ask about deadlines",
        "Always cite sources if I ask about medicine",
        "If I ask about recipes, always give me grams",
        "Antworte immer auf Deutsch, auch wenn ich Englisch schreibe",
        "Réponds toujours en français, même si j'écris en anglais",
        "如果我问菜谱，请总是用克回答",
    ],
)
def test_what_to_do_always_is_told_with_what_it_is_for(text: str) -> None:
    facts = extract(f"{text}.", Occasion("t", "m", now()))
    assert [(fact.kind, fact.text) for fact in facts] == [("instruction", text)]


@pytest.mark.parametrize("text", ["If I were rich, I'd always answer in French.", "When I was young, I always wrote."])
def test_a_supposition_with_always_tells_nothing_to_do(text: str) -> None:
    assert all(fact.kind != "instruction" for fact in extract(text, Occasion("t", "m", now())))


@pytest.mark.parametrize(
    "said",
    ["Please keep your answers short.", "Never run git push yourself.", "Always run the tests before you commit."],
)
def test_how_to_answer_and_what_to_leave_alone_are_standing_instructions(said: str) -> None:
    assert [fact.kind for fact in extract(said, Occasion("t", "m", now()))] == ["instruction"]


def test_what_else_a_sentence_with_an_instruction_says_is_told_by_itself() -> None:
    facts = extract("Please always use metric units, I live in Oslo.", Occasion("t", "m", now()))
    assert [fact.kind for fact in facts] == ["instruction", "biography"]


@pytest.mark.parametrize(
    "text",
    [
        "I'm planning a summer party.",
        "I'm preparing for an important speech.",
        "I was deeply impressed by the film.",
        "The event was so full that the vouchers were sold out.",
        "I donated $50 on Sept 1.",
        "I used to play.",
    ],
)
def test_plans_of_the_week_impressions_and_what_nobody_gave_away_are_no_facts(text: str) -> None:
    assert extract(text, Occasion("t", "m", now())) == []
