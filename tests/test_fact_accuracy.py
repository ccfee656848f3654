"""A floor under what facts get right without a model: on sentences and changes that the lists were not tuned on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from fact_clauses import changes, labelled, scores


def test_what_is_taken_for_a_fact_is_one_and_few_are_missed() -> None:
    by_language = scores(labelled("kept"))
    assert by_language["all"].precision >= 0.92
    assert by_language["all"].recall >= 0.85
    assert by_language["en"].precision >= 0.9


@pytest.mark.parametrize("outcome", ["ends", "stays", "doubts"])
def test_what_is_said_later_ends_doubts_or_leaves_what_it_tells_of(outcome: str) -> None:
    pairs = [pair for pair in changes("kept") if pair.outcome == outcome]
    assert sum(pair.is_right for pair in pairs) / len(pairs) >= 0.9
