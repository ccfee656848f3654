"""The local router: what decides on a web search where words do not and no small model is set."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage

from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embeddings import Embedder
from everthread.nodes.slm_router import slm_router
from everthread.runtime import local_router as node
from everthread.runtime.local_router import judge_locally
from everthread.search.router.features import NAMES, features
from everthread.search.router.keywords import read_question
from everthread.search.router.model import WEIGHTS, LocalRouter, local_router
from everthread.search.router.small_model import Answers, ask_model
from everthread.settings.settings import Settings
from everthread.state.search_records import SearchOutcome, Sign


@pytest.fixture
def embeddings(real_embeddings: Embeddings) -> Embeddings:
    """These tests are about meaning."""
    return real_embeddings


UNDECIDED = SearchOutcome(
    decided_by="keywords",
    needed=None,
    reason="?",
    score=0.5,
    signs=(Sign(kind="information", found="what is", weight=0.5),),
)


class Broken(Embeddings):
    """Fails, or hangs for `seconds`."""

    model_name = BUNDLED_MODEL

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked = 0

    def embed_query(self, text: str) -> list[float]:
        self.asked += 1
        if self.error:
            raise self.error
        return [0.0] * 7

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


async def judge(text: str, embedder: Embedder | None = None) -> SearchOutcome:
    return await judge_locally({"messages": [HumanMessage(text)], "search": UNDECIDED}, Settings(), embedder)


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("Who won the last Nobel Peace Prize?", True),
        ("How many people live in Lagos these days?", True),
        ("Who leads the Premier League table?", True),
        ("What is the boiling point of water?", False),
        ("How do magnets work?", False),
        ("My sister came over and we baked bread", False),
        ("Why is the sky blue?", False),
        ("What is my dog called?", False),
    ],
)
async def test_live_questions_search_and_lasting_knowledge_does_not(
    text: str, needed: bool, embeddings: Embeddings
) -> None:
    outcome = await judge(text, Embedder(BUNDLED_MODEL, embeddings))
    assert (outcome.needed, outcome.decided_by, outcome.error) == (needed, "router", None)
    assert "signs, words and embedding" in outcome.reason
    assert outcome.query == (text if needed else None)


async def test_the_state_says_who_decided_why_and_keeps_the_signs() -> None:
    outcome = await judge("How do magnets work?")
    assert outcome.decided_by == "router"
    assert outcome.probability is not None
    assert 0 <= outcome.probability <= 1
    assert f"{outcome.probability:.2f} by signs, threshold" in outcome.reason
    assert outcome.signs == UNDECIDED.signs


async def test_a_failing_embedding_model_leaves_it_to_the_signs() -> None:
    outcome = await judge("How do magnets work?", Embedder(BUNDLED_MODEL, Broken(RuntimeError("no"))))
    assert (outcome.needed, outcome.error) == (False, None)
    assert "there is no embedding" in outcome.reason


async def test_a_slow_embedding_model_leaves_it_to_the_signs_and_is_not_taken_for_hanging(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = asyncio.Event()

    class Slow:
        name = BUNDLED_MODEL

        async def query(self, text: str, *, timeout: float, user_id: str) -> list[float]:
            assert timeout == Settings().timeouts.embedding
            await gate.wait()
            return []

    monkeypatch.setattr(node, "_MAX_SECONDS", 0.05)
    outcome = await judge("How do magnets work?", Slow())  # type: ignore[arg-type]
    assert outcome.needed is False
    assert "took too long" in outcome.reason


async def test_another_embedding_model_is_not_asked() -> None:
    broken = Broken(RuntimeError("no"))
    outcome = await judge("How do magnets work?", Embedder("another/model", broken))
    assert broken.asked == 0
    assert "by signs," in outcome.reason


async def test_vectors_of_another_size_are_not_used() -> None:
    outcome = await judge("How do magnets work?", Embedder(BUNDLED_MODEL, Broken()))
    assert "by signs," in outcome.reason


async def test_in_another_language_the_signs_decide() -> None:
    broken = Broken(RuntimeError("no"))
    outcome = await judge("Warum ist der Himmel blau?", Embedder(BUNDLED_MODEL, broken))
    assert (outcome.needed, broken.asked) == (False, 0)


async def test_broken_weights_do_not_fail_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> LocalRouter:
        raise OSError("no such file")

    monkeypatch.setattr(node, "local_router", broken)
    outcome = await judge("How do magnets work?")
    assert (outcome.needed, outcome.decided_by) == (False, "router")
    assert outcome.error == "The local router failed to decide (OSError)."


async def test_without_a_small_model_the_node_asks_the_local_router() -> None:
    class Turn:
        settings = Settings()

        class resources:  # noqa: N801
            embedder = None

    state: Any = {"messages": [HumanMessage("How do magnets work?")], "search": UNDECIDED}
    assert (await slm_router(state, Turn()))["search"].decided_by == "router"  # type: ignore[arg-type]


async def test_the_same_question_is_not_asked_twice_but_another_user_asks_anew() -> None:
    model = FakeListChatModel(responses=["yes: tides", "no"])
    answers = Answers(512)
    state: Any = {"messages": [HumanMessage("and the tides?", id="1")], "search": UNDECIDED}
    settings = Settings(slm_model="small")
    assert [(await ask_model(state, settings, model, answers)).query for _ in range(3)] == ["tides"] * 3
    other = settings.model_copy(update={"user_id": "another"})
    assert (await ask_model(state, other, model, answers)).needed is False


def test_an_answer_that_is_neither_is_not_kept() -> None:
    model = FakeListChatModel(responses=["perhaps", "no"])
    answers = Answers(512)
    state: Any = {"messages": [HumanMessage("and the tides?", id="1")], "search": UNDECIDED}

    async def twice() -> list[str | None]:
        return [(await ask_model(state, Settings(slm_model="small"), model, answers)).error for _ in range(2)]

    assert asyncio.run(twice()) == ["The small model answered neither yes nor no.", None]


def test_the_weights_name_their_data_licences_command_and_date() -> None:
    provenance = json.loads(WEIGHTS.read_text(encoding="utf-8"))["provenance"]
    assert provenance["command"].startswith("python bench/search_gate.py --train")
    assert provenance["date"]
    licences = {entry["licence"] for entry in provenance["data"]}
    assert licences <= {"Apache-2.0", "MIT", "CC BY 3.0"}


def test_weights_for_other_features_are_refused() -> None:
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match="other features"):
        LocalRouter({**data, "features": ["one"]})


@given(st.text(max_size=300))
def test_any_text_has_a_probability(text: str) -> None:
    reading = read_question(text, 2026)
    values = features(text, reading)
    assert len(values) == len(NAMES)
    assert all(math.isfinite(value) for value in values)
    assert 0 <= local_router().judge(text, reading).probability <= 1
