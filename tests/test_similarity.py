"""One threshold for every embedding model: similarity is brought to one scale, and a near miss is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
from conversation import say
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from everthread import Settings, open_graph, thread_id
from everthread.cli.explain import explain
from everthread.graph.conversation import CompiledConversation
from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embeddings import Embedder
from everthread.models.similarity import (
    ANSWERS,
    OF_LANGUAGES,
    QUESTIONS,
    USUAL,
    Scale,
    calibrated,
    in_language,
    scale_of,
)


@pytest.fixture
def embeddings(real_embeddings: Embeddings) -> Embeddings:
    """These tests are about meaning."""
    return real_embeddings


CHAT = [
    "Our neighbour plays the accordion every evening.", "The heating is broken.", "We saw whales.",
    "I bought tomatoes.", "The bus was late.", "My tooth hurts.",
]  # fmt: skip


class Alike(Embeddings):
    """A model for which any two texts are much alike, as for many larger ones: cosines from 0.75 upwards."""

    model_name = "alike"

    def __init__(self, real: Embeddings) -> None:
        self.real = real

    def embed_query(self, text: str) -> list[float]:
        return [*(0.5 * np.array(self.real.embed_query(text))), 0.75**0.5]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[*(0.5 * np.array(vector)), 0.75**0.5] for vector in self.real.embed_documents(texts)]


async def with_scale(embedder: Embedder) -> None:
    async with asyncio.timeout(60):
        while embedder.scale == USUAL:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("alike", [False, True])
async def test_one_threshold_serves_models_of_any_scale(
    embeddings: Embeddings, reopen: Callable[..., open_graph], alike: bool
) -> None:
    """Report AgC #72 and others: a threshold that fits one model lets everything or nothing through with another."""
    opened = reopen(embeddings=Alike(embeddings) if alike else embeddings)
    async with opened as graph:
        if alike:
            await with_scale(opened.resources.embedder)
        for text in CHAT:
            await say(graph, text, to="one")
        state = await say(graph, "Which musical instrument disturbs me at night?", to="two")
        found = [m.fragments[0].content for m in state["recall"].memories if m.vector_rank is not None]
        assert found[0] == CHAT[0]
        assert 0.8 <= state["recall"].memories[0].similarity < 0.95
        assert len(found) == 1
        state = await say(graph, "Quantum chromodynamics?", to="three")
        assert state["recall"].hits == ()
        assert 0.4 < state["recall"].nearest < 0.7


async def test_a_near_miss_is_told(
    settings: Settings, reopen: Callable[..., open_graph], embeddings: Embeddings, capsys: pytest.CaptureFixture[str]
) -> None:
    where = thread_id("two", settings.user_id)
    async with reopen() as graph:
        await say(graph, CHAT[0], to="one", user=settings.user_id)
        state = await say(graph, "Quantum chromodynamics?", to=where, user=settings.user_id)
        assert state["report"]["recall"]["nearest"] == state["recall"].nearest
        await explain(graph.resources.database, "two")
    assert f"the nearest had a similarity of {state['recall'].nearest:.2f}" in capsys.readouterr().out


async def test_the_first_turn_compares_nothing(graph: CompiledConversation) -> None:
    assert (await say(graph, "Hello"))["recall"].nearest is None


def scale_by(embeddings: Embeddings) -> Scale:
    return scale_of([embeddings.embed_query(text) for text in QUESTIONS], embeddings.embed_documents(list(ANSWERS)))


def test_the_default_model_is_the_scale(embeddings: Embeddings) -> None:
    assert scale_by(embeddings) == pytest.approx(USUAL, abs=0.01)
    assert Embedder(BUNDLED_MODEL).scale == USUAL
    of_alike = scale_by(Alike(embeddings))
    assert of_alike == pytest.approx([0.75 + 0.25 * cosine for cosine in USUAL], abs=0.01)
    assert calibrated(np.array([0.75, 0.85, 0.95, 0.999]), of_alike) == pytest.approx([0, 0.4, 0.8, 1], abs=0.02)


def test_an_answer_stands_out_by_less_where_the_cosines_of_a_language_lie_closer_together() -> None:
    in_portuguese = in_language(OF_LANGUAGES, "pt")
    assert in_portuguese.answered < in_language(OF_LANGUAGES, "en").answered == OF_LANGUAGES.answered
    assert calibrated(np.array([0.2]), in_portuguese) > calibrated(np.array([0.2]), OF_LANGUAGES)
    assert in_language(OF_LANGUAGES, None) == OF_LANGUAGES
    assert in_language(USUAL, "pt") == USUAL


def test_vectors_that_mean_nothing_have_no_scale() -> None:
    assert scale_by(DeterministicFakeEmbedding(size=384)) == USUAL
    assert scale_of([[0.0], [1.0]], [[1.0], [1.0]]) == USUAL
    assert scale_of([[1.0], [1.0]], [[1.0], [1.0]]) == USUAL


@given(st.lists(st.floats(-1, 1), min_size=2), st.floats(-0.99, 0.9), st.floats(0.03, 0.09))
def test_calibration_keeps_the_order_and_the_ends(cosines: list[float], unrelated: float, apart: float) -> None:
    made = calibrated(np.array(cosines), scale := Scale(unrelated, unrelated + apart))
    assert (made >= -1).all()
    assert (made <= 1).all()
    assert (np.diff(made[np.argsort(cosines, kind="stable")]) >= 0).all()
    assert calibrated(np.array([-1.0, 1.0]), scale) == pytest.approx([-1, 1])
