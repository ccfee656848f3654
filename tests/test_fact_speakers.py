"""What others say in a message tells nothing of the user: pasted reports, chats, mail and letters, in 13 languages."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread.facts.extraction import Occasion
from everthread.facts.reading import Message, read_facts

TABLE = Path(__file__).parent / "data" / "pasted.jsonl"
SAID = Occasion("t", "m", datetime(2024, 5, 1, tzinfo=UTC))


def texts(speaker: str, *, held: bool) -> list[str]:
    """The messages of the table; every second one was not looked at while the rules were written."""
    rows = [json.loads(line) for line in TABLE.read_text().splitlines()]
    mine = [row["text"] for row in rows if row["speaker"] == speaker]
    return mine[1::2] if held else mine[::2]


def told(text: str) -> list[str]:
    """The facts and pins that a message gives, also where anything important is pinned by itself."""
    reading = read_facts(Message(SAID, text), score=lambda _: 1.0, auto_pin_score=0.9)
    return [*(fact.text for fact in reading.facts), *(pin.text for pin in reading.pins)]


def facts(text: str) -> list[str]:
    reading = read_facts(Message(SAID, text), score=lambda _: 0.0, auto_pin_score=None)
    return [fact.text for fact in reading.facts]


@pytest.mark.parametrize("held", [False, True])
def test_what_others_say_gives_no_fact(held: bool) -> None:
    given = [text for text in texts("other", held=held) if facts(text)]
    assert len(given) <= (1 if held else 0), given


@pytest.mark.parametrize("held", [False, True])
def test_what_the_user_says_in_a_like_shape_gives_one(held: bool) -> None:
    lost = [text for text in texts("user", held=held) if not facts(text)]
    assert len(lost) <= (0 if held else 1), lost


def test_what_others_say_is_not_pinned_by_its_importance() -> None:
    assert told("The patient reports: I am allergic to penicillin.") == []
    assert told("I am allergic to penicillin.") == ["I am allergic to penicillin"] * 1 + [
        "I am allergic to penicillin."
    ]


def test_a_report_ends_with_its_paragraph() -> None:
    assert facts("The patient reports: I live alone.\n\nI work as a nurse.") == ["I work as a nurse"]


@pytest.mark.parametrize(
    "text",
    [
        "Is this too harsh?\n\nHi Paul,\nI live in Denver and I work as a roofer.\nBest,\nGreg",
        "Let's play: you are the barman, I'm a pirate called Jack and I live on a ship.",
        "Here's a paragraph from my novel: I am a widow. I live by the sea with my two cats.",
        "Mon voisin répète : « Je suis végétarien et je fume. »",
        "如果我是医生，我就会住在西班牙。",
        "小李发给我：我怀孕了，要搬到成都。",
    ],
)
def test_letters_within_a_question_games_and_novels_tell_nothing(text: str) -> None:
    assert facts(text) == []
