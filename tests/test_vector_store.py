"""A LangChain vector store of one's own instead of our table: by argument or setting, filtered, healed."""

from __future__ import annotations

import math
import sys
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from conversation import EchoModel, say
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import HumanMessage
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_postgres import PGEngine, PGVectorStore

from everthread import EmbeddingError, Settings, SettingsError, open_graph
from everthread.memory.store_index import StoreIndex
from everthread.memory.store_scores import SCALES, fit
from everthread.memory.vectors import BATCH
from everthread.runtime.resources import Resources


@pytest.fixture
def embeddings(real_embeddings: Embeddings) -> Embeddings:
    """These tests are about meaning."""
    return real_embeddings


CHAT = [
    "Our neighbour plays the accordion every evening.", "The heating is broken.", "We saw whales.",
    "My locker is QX-4471.", "I bought tomatoes.", "The bus was late.",
]  # fmt: skip


async def filled(settings: Settings, embeddings: Embeddings, store: VectorStore | str) -> Resources:
    resources = Resources(settings.but(user_id="ada"), embeddings=embeddings, vector_store=store)
    for user in ("ada", "bob"):
        said = [HumanMessage(text, id=f"{user}-{n}") for n, text in enumerate(CHAT)]
        await resources.of_user(user).archive.add_messages(f"of-{user}", said)
        assert await resources.of_user(user).vectors.embed_pending(timeout=60) == len(CHAT)
    return resources


async def near(resources: Resources, user: str = "ada", limit: int = 3, **more: Any) -> list[tuple[str, float]]:
    rows = await resources.of_user(user).search.nearest("Which instrument do I hear?", limit=limit, timeout=60, **more)
    return [(row.source_id, row.cosine) for row in rows]


async def test_a_turn_recalls_from_a_store_given_as_argument(
    settings: Settings, embeddings: Embeddings, reopen: Callable[..., open_graph]
) -> None:
    store = InMemoryVectorStore(embeddings)
    async with reopen(vector_store=store) as graph:
        await say(graph, CHAT[0], to="one")
        await say(graph, CHAT[1], to="one")
        assert {entry["metadata"]["user_id"] for entry in store.store.values()} == {"ada"}
        assert {entry["metadata"]["conversation_id"] for entry in store.store.values()} == {"one"}
        state = await say(graph, "Which musical instrument disturbs me at night?", to="two")
    assert state["recall"].error is None
    assert CHAT[0] in state["recall"].memories[0].fragments[0].content
    assert state["recall"].memories[0].vector_rank == 1
    assert state["recall"].memories[0].similarity >= 0.7


made: list[Any] = []


def make(embeddings: Embeddings) -> VectorStore:
    made.append(InMemoryVectorStore(embeddings))
    return made[-1]


async def amake() -> VectorStore:
    return InMemoryVectorStore(DeterministicFakeEmbedding(size=8))


not_a_store = "text"


@pytest.mark.parametrize("name", ["make", "amake", "InMemoryVectorStore"])
async def test_a_store_is_named_by_its_import_path(
    settings: Settings, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "my.stores", sys.modules[__name__])
    resources = await filled(settings.but(vector_store=f"my.stores:{name}"), embeddings, f"my.stores:{name}")
    assert isinstance(resources.of_user("ada").vectors, StoreIndex)
    assert len(await near(resources)) == 3
    await resources.close()


async def test_a_store_that_cannot_be_made_leaves_the_turn_with_its_words(
    settings: Settings, embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "my.stores", sys.modules[__name__])
    for path, problem in [
        ("my.stores:gone", "has no 'gone'"), ("my.stores:not_a_store", "failed"), ("nowhere.at:all", "No module named"),
    ]:  # fmt: skip
        named = settings.but(vector_store=path, database_schema=settings.database_schema)
        async with open_graph(named, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
            await say(graph, "My locker has the number QX-4471.", to="one")
            await say(graph, "It rains today, and the bus is late.", to="one")
            state = await say(graph, "What was QX-4471?", to=f"asked with {path}")
        assert "QX-4471" in str(state["recall"].memories)
        assert f"The vector store {path!r} failed" in state["recall"].error
        assert problem in state["recall"].error
    with pytest.raises(SettingsError, match="vector_store"):
        settings.but(vector_store="no path")


class Scored(InMemoryVectorStore):
    """A store whose scores are not cosines."""

    def __init__(self, embeddings: Embeddings, score: Callable[[float], float]) -> None:
        super().__init__(embeddings)
        self.score = score

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **more: Any) -> list[tuple[Document, float]]:
        found = await super().asimilarity_search_with_score(query, k, **more)
        return [(document, self.score(cosine)) for document, cosine in found]


@pytest.mark.parametrize(
    "score",
    [
        lambda c: c,
        lambda c: 1 - c,
        lambda c: (1 + c) / 2,
        lambda c: 2 - 2 * c,
        lambda c: math.sqrt(max(0.0, 2 - 2 * c)),
        lambda c: 1 - math.sqrt(max(0.0, 2 - 2 * c)) / math.sqrt(2),
        lambda c: math.exp(10 * c),
        lambda c: 0.0,
    ],
    ids=["cosine", "distance", "similarity", "squared L2", "L2", "relevance", "unknown", "none"],
)
async def test_any_scale_of_scores_becomes_our_similarity_and_the_best_stays_best(
    settings: Settings, embeddings: Embeddings, score: Callable[[float], float]
) -> None:
    """Report mem0 #3283: a distance taken for a score, so that the threshold removed the best matches."""
    plain = await filled(settings, embeddings, InMemoryVectorStore(embeddings))
    expected = await near(plain)
    await plain.close()
    odd = Resources(settings, embeddings=embeddings, vector_store=Scored(embeddings, score))
    for user in ("ada", "bob"):
        await odd.of_user(user).vectors.embed_pending(timeout=60)
    for _ in range(2):
        found = await near(odd)
        assert [id_ for id_, _ in found] == [id_ for id_, _ in expected]
        assert [value for _, value in found] == pytest.approx([value for _, value in expected], abs=0.03)
    assert expected[0][0] == "ada-0"
    await odd.close()


class Unfiltered(InMemoryVectorStore):
    """A store that ignores the filter, as some do silently."""

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **_: Any) -> list[tuple[Document, float]]:
        return await super().asimilarity_search_with_score(query, k)


async def test_a_store_that_ignores_the_filter_gives_nothing_of_others_and_all_that_is_ones_own(
    settings: Settings, embeddings: Embeddings
) -> None:
    """Reports PraisonAI #4818, AIOS #551 and others: a user id that is ignored at read time."""
    resources = await filled(settings, embeddings, Unfiltered(embeddings))
    for user in ("ada", "bob"):
        found = await near(resources, user, limit=6)
        assert sorted(id_ for id_, _ in found) == [f"{user}-{n}" for n in range(6)]
    assert await near(resources, "carol") == []
    assert await near(resources, thread_only="of-bob") == []
    await resources.close()


async def test_what_a_store_says_of_a_message_that_is_not_the_users_is_dropped(
    settings: Settings, embeddings: Embeddings
) -> None:
    store = InMemoryVectorStore(embeddings)
    resources = await filled(settings, embeddings, store)
    forged = {
        "user_id": "ada",
        "source_type": "message",
        "conversation_id": "of-bob",
        "source_id": "bob-0",
        "role": "user",
    }
    store.add_texts(["Which instrument do I hear?"], [forged])
    assert "bob-0" not in [id_ for id_, _ in await near(resources, limit=10)]
    await resources.close()


async def test_what_a_store_in_memory_lost_with_the_process_is_embedded_again(
    settings: Settings, embeddings: Embeddings
) -> None:
    await (await filled(settings, embeddings, InMemoryVectorStore(embeddings))).close()
    again = Resources(settings, embeddings=embeddings, vector_store=InMemoryVectorStore(embeddings))
    assert await again.of_user("ada").vectors.embed_pending(timeout=60) == 0
    assert (await near(again))[0][0] == "ada-0"
    await again.close()


async def test_what_is_in_our_own_table_moves_into_the_store(settings: Settings, embeddings: Embeddings) -> None:
    own = Resources(settings, embeddings=embeddings)
    await own.of_user("ada").archive.add_messages(
        "t", [HumanMessage(text, id=f"ada-{n}") for n, text in enumerate(CHAT)]
    )
    await own.of_user("ada").vectors.embed_pending(timeout=60)
    await own.close()
    moved = Resources(settings, embeddings=embeddings, vector_store=InMemoryVectorStore(embeddings))
    assert await moved.of_user("ada").vectors.embed_pending(timeout=60) == len(CHAT)
    assert (await near(moved))[0][0] == "ada-0"
    await moved.close()


class Strict(InMemoryVectorStore):
    """A store that refuses an id that it has."""

    async def aadd_documents(self, documents: list[Document], ids: list[str] | None = None, **more: Any) -> list[str]:
        if set(ids or ()) & set(self.store):
            raise ValueError("there is such an id already")
        return await super().aadd_documents(documents, ids, **more)


async def test_a_pass_that_was_killed_before_it_noted_its_work_is_done_again(
    settings: Settings, embeddings: Embeddings
) -> None:
    store = Strict(embeddings)
    resources = await filled(settings, embeddings, store)
    await resources.of_user("ada").rows.fetch("UPDATE messages SET embedded_with = NULL WHERE user_id = %(user_id)s")
    before = len(store.store)
    assert await resources.of_user("ada").vectors.embed_pending(timeout=60) == len(CHAT)
    assert len(store.store) == before
    await resources.close()


class Slow(InMemoryVectorStore):
    async def asimilarity_search_with_score(self, query: str, k: int = 4, **_: Any) -> list[tuple[Document, float]]:
        import asyncio

        await asyncio.sleep(3600)
        return []


async def test_a_slow_store_is_not_waited_for(settings: Settings, embeddings: Embeddings) -> None:
    resources = await filled(settings, embeddings, Slow(embeddings))
    with pytest.raises(EmbeddingError, match=r"The vector store 'Slow' took longer than 0.05 s"):
        await resources.of_user("ada").search.nearest("instrument", limit=3, timeout=0.05)
    await resources.close()


@pytest.fixture
async def pg_store(settings: Settings, embeddings: Embeddings) -> AsyncIterator[PGVectorStore]:
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value().replace("postgresql://", "postgresql+psycopg://")
    engine = PGEngine.from_connection_string(url)
    resources = Resources(settings)
    await resources.database.open()
    await resources.close()
    await engine.ainit_vectorstore_table("theirs", 384, schema_name=settings.database_schema)
    yield await PGVectorStore.create(engine, embeddings, "theirs", schema_name=settings.database_schema)
    await engine.close()


async def test_langchain_postgres_serves_as_the_store(
    settings: Settings, embeddings: Embeddings, pg_store: PGVectorStore
) -> None:
    resources = await filled(settings, embeddings, pg_store)
    found = await near(resources)
    assert found[0][0] == "ada-0"
    assert 0.2 < found[0][1] < 1
    assert {id_.partition("-")[0] for id_, _ in await near(resources, limit=20)} == {"ada"}
    await resources.close()


@given(
    st.sampled_from(["cosine", "cosine distance", "(1 + cosine) / 2", "squared distance", "distance"]),
    st.lists(st.floats(-0.95, 0.95), min_size=4, max_size=16, unique_by=lambda c: round(c, 1)),
)
def test_a_scale_that_is_learned_explains_the_scores_it_was_learned_from(name: str, cosines: list[float]) -> None:
    inverse: dict[str, Callable[[float], float]] = {
        "cosine": lambda c: c, "cosine distance": lambda c: 1 - c, "(1 + cosine) / 2": lambda c: (1 + c) / 2,
        "squared distance": lambda c: 2 - 2 * c, "distance": lambda c: math.sqrt(2 - 2 * c),
    }  # fmt: skip
    scores = [inverse[name](value) for value in cosines]
    found = fit(scores, cosines)
    assert found in {None, name}
    if found is not None:
        assert [SCALES[found](score) for score in scores] == pytest.approx(cosines, abs=1e-6)


@pytest.mark.parametrize("what", ["a thread", "a span of time"])
async def test_what_is_forgotten_leaves_the_store_however_much_it_is(settings: Settings, what: str) -> None:
    """More than one batch of it."""
    embeddings = DeterministicFakeEmbedding(size=8)
    store = InMemoryVectorStore(embeddings)
    async with open_graph(settings, model=EchoModel(prompts=[]), embeddings=embeddings, vector_store=store) as graph:
        user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
        said = [HumanMessage(f"Remark {n} about the garden.", id=f"m{n}") for n in range(3 * BATCH)]
        await user.archive.add_messages("one", said)
        while await user.vectors.embed_pending(timeout=60):
            pass
        assert len(store.store) == 3 * BATCH
        if what == "a thread":
            await graph.adelete("ada", "one")  # type: ignore[attr-defined]
        else:
            await graph.aforget("ada", "one", since=datetime(2000, 1, 1, tzinfo=UTC))  # type: ignore[attr-defined]
    assert store.store == {}
