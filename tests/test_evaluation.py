"""`everthread eval`: one's own questions, what of the expected reaches the prompt, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import run

MESSAGES = (
    {"id": "m1", "role": "user", "content": "My dog is called Biscuit, and he is afraid of thunder."},
    {"id": "m2", "role": "assistant", "content": "Poor Biscuit!"},
    {"id": "m3", "role": "user", "content": "The plumber Ravel comes on the 4th of May.", "at": "2026-04-20T08:00:00Z"},
    {"id": "m4", "role": "assistant", "content": "I shall remind you of it."},
)
QUESTIONS = (
    {"question": "What is my dog afraid of?", "messages": ["m1"], "words": ["THUNDER"]},
    {"question": "When does the plumber come?", "messages": ["m3"], "words": ["the moon"]},
    {"question": "zxqv"},
)


@pytest.fixture
def own(default_environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    folder = {"EVERTHREAD_DATABASE_URL": "sqlite", "EVERTHREAD_DATA_DIR": str(tmp_path), "EVERTHREAD_USER_ID": "ada"}
    return {**default_environment, **folder}


def written(folder: Path, *lines: Any) -> str:
    file = folder / "questions.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return str(file)


def test_questions_about_a_conversation_of_the_file(own: dict[str, str], tmp_path: Path) -> None:
    file = written(tmp_path, *MESSAGES, "", *QUESTIONS)
    done = run(own, "eval", file, "--json", "--against", "max_memories=1 profile=archive")
    assert done.returncode == 0, done.stderr
    as_set, other = json.loads(done.stdout)
    assert [answer["found"] for answer in as_set["answers"]] == [1.0, 0.5, None]
    assert [answer["missing"] for answer in as_set["answers"]] == [[], ["the moon"], []]
    assert as_set["found"] == 0.75
    assert as_set["silent"] == 1.0
    assert as_set["tokens"] > as_set["memory_tokens"] > 0
    assert all(answer["memories"] <= 1 for answer in other["answers"])
    assert other["settings"] == "max_memories=1 profile=archive"
    assert not run(own, "threads", "--json").stdout.strip().strip("[]"), "one's own storage is not touched"


def test_questions_about_what_is_stored(own: dict[str, str], tmp_path: Path) -> None:
    run(own, "chat", "--thread", "home", "--model", "offline", typed="My dog is called Biscuit.\n")
    (thread,) = json.loads(run(own, "threads", "--json").stdout)
    (message, _) = json.loads(run(own, "history", "home", "--json").stdout)
    assert (thread["name"], thread["messages"], message["text"]) == ("home", 2, "My dog is called Biscuit.")
    file = written(tmp_path, {"question": "How is my dog called?", "messages": [message["id"]]})
    done = run(own, "eval", file)
    assert done.returncode == 0, done.stderr
    assert "100%" in done.stdout
    assert len(json.loads(run(own, "threads", "--json").stdout)) == 1, "a question leaves no thread"


def test_the_example_that_comes_along_finds_most_and_is_silent_about_the_rest(own: dict[str, str]) -> None:
    done = run(own, "eval", "--json")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)
    assert result["questions"] > 15
    assert result["found"] >= 0.9
    assert result["silent"] == 1


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["{"], "Line 1"),
        ([{"question": "Who?", "wrods": ["x"]}], "wrods"),
        ([{"id": "m1", "role": "user", "content": "No question."}], "holds no question"),
        ([{"id": "m1", "role": "pirate", "content": "Arr."}, {"question": "Who?"}], "'pirate'"),
        ([{"question": "Who?", "messages": ["nobody"]}], "'nobody'"),
    ],
)
def test_a_file_that_is_not_right_says_where(own: dict[str, str], tmp_path: Path, lines: list[Any], why: str) -> None:
    done = run(own, "eval", written(tmp_path, *lines))
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr


def test_a_setting_that_is_none_is_named(own: dict[str, str], tmp_path: Path) -> None:
    done = run(own, "eval", written(tmp_path, *QUESTIONS), "--against", "max_memorys=3")
    assert done.returncode == 1
    assert "'max_memorys=3' is no setting" in done.stderr


def test_facts_summaries_and_reports_are_printed_as_json(own: dict[str, str]) -> None:
    lines = "".join(f"My {number}th cat is called Tom{number}.\n" for number in range(12))
    run(own, "chat", "--thread", "cats", "--model", "offline", "--summary-model", "extractive", typed=lines)
    known = json.loads(run(own, "facts", "--json").stdout)
    assert known["facts"]
    assert known["facts"][0]["source_id"]
    traced = json.loads(run(own, "trace", "cats", "--json").stdout)
    assert traced
    assert {source["id"] for source in traced[0]["messages"]} >= set(traced[0]["summary"]["source_ids"]) - {
        below["id"] for below in traced[0]["summaries"]
    }
    assert json.loads(run(own, "explain", "cats", "--json").stdout)["turn"] == 12
