"""The embedder: each text once, slow and broken models without harm, vectors of any size."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conversation import EchoModel, say
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.messages import HumanMessage

from everthread import EmbeddingError, Settings, open_graph
from everthread.maintenance.bulk_embedding import BulkEmbedding
from everthread.maintenance.reindex import Reindex
from everthread.models.embedding_cache import EmbeddingCache
from everthread.models.embedding_models import load_embeddings
from everthread.models.embeddings import Embedder
from everthread.models.shared_embeddings import SharedEmbeddings
from everthread.runtime.resources import Resources
from everthread.storage.user_rows import UserRows


class Counted(Embeddings):
    """A model that notes what it was asked; a question gets another vector than a document where `prefix` is set."""

    model_name = "counted"

    def __init__(self, size: int = 8, prefix: str = "") -> None:
        self.inner = DeterministicFakeEmbedding(size=size)
        self.prefix = prefix
        self.queries: list[str] = []
        self.documents: list[str] = []

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return self.inner.embed_query(self.prefix + text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.documents += texts
        return self.inner.embed_documents(texts)


def same(vectors: list[list[float]], model: Embeddings, texts: list[str]) -> bool:
    return bool(np.allclose(vectors, model.embed_documents(texts), atol=1e-5))


async def test_a_text_is_embedded_once_for_question_and_document() -> None:
    model = Counted()
    embedder = Embedder("counted", model)
    await embedder.query("first", timeout=60)
    assert same(await embedder.documents(["first", "b", "b"], timeout=60), model.inner, ["first", "b", "b"])
    assert model.documents == ["first", "b"]
    await embedder.documents(["b", "c"], timeout=60)
    question = await embedder.query("second", timeout=60)
    assert np.allclose(await embedder.documents(["second"], timeout=60), [question])
    assert same([await embedder.query("c", timeout=60)], model.inner, ["c"])
    assert (model.documents, model.queries) == (["first", "b", "c"], ["first", "second"])


async def test_a_model_that_embeds_questions_otherwise_gets_both() -> None:
    model = Counted(prefix="query: ")
    embedder = Embedder("counted", model)
    for text in ("first", "second"):
        await embedder.query(text, timeout=60)
        assert same(await embedder.documents([text], timeout=60), model.inner, [text])
    assert model.documents == model.queries == ["first", "second"]


async def test_two_who_ask_the_same_at_once_share_one_call() -> None:
    model = Counted()
    embedder = Embedder("counted", model)
    found = await asyncio.gather(*(embedder.query("same", timeout=60) for _ in range(5)))
    assert all(vector == found[0] for vector in found)
    assert model.queries == ["same"]


async def test_what_one_user_asked_or_said_is_embedded_anew_for_another() -> None:
    """How long a question takes would tell whether somebody asked the same."""
    model = Counted()
    embedder = Embedder("counted", model)
    await asyncio.gather(*(embedder.query("same", timeout=60, user_id=user) for user in ("ada", "bob", "ada")))
    await embedder.documents(["said"], timeout=60, user_id="ada")
    await embedder.query("said", timeout=60, user_id="bob")
    for _ in range(2):
        await SharedEmbeddings(embedder, 60).aembed_query("in a store of all users")
    assert model.queries == ["same", "same", "said", "in a store of all users", "in a store of all users"]


def test_the_cache_stays_within_its_bytes_and_forgets_what_was_used_least() -> None:
    cache = EmbeddingCache("m", 10 * (4 * 100 + 200))
    for n in range(10):
        cache.put("document", str(n), [float(n)] * 100)
    assert cache.get("document", "0") == [0.0] * 100
    cache.put("document", "new", [1.0] * 100)
    assert cache.get("document", "1") is None
    assert cache.get("document", "0") is not None
    cache.put("document", "0", [2.0] * 100)
    assert cache.get("document", "0") == [2.0] * 100
    assert cache.size <= 6000
    assert EmbeddingCache("m", 0).put("query", "x", [1.0]) is None
    cache.put("query", "lone \ud800 surrogate", [1.0])
    assert cache.get("query", "lone \ud800 surrogate") == [1.0]


async def test_what_was_asked_is_not_embedded_again_when_it_is_remembered(reopen: Callable[..., open_graph]) -> None:
    model = Counted()
    async with reopen(embeddings=model) as graph:
        for n in range(6):
            await say(graph, f"Remark number {n}.")
    again = [text for text in model.queries if text in model.documents]
    assert len(model.queries) == len(set(model.queries)) >= 5
    assert len(again) <= 1
    assert len(model.documents) == len(set(model.documents))


class Hanging(Counted):
    """A model that hangs until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def embed_query(self, text: str) -> list[float]:
        self.go.wait(60)
        return super().embed_query(text)


async def test_a_model_that_hangs_costs_one_timeout_and_not_one_a_turn(settings: Settings) -> None:
    """Seed 000, error handling: the turn goes on by keywords; once the model answers, by meaning as well."""
    model = Hanging()
    resources = Resources(settings.but(user_id="ada"), embeddings=model)
    said = ["My locker is QX-4471.", "It rains.", "The bus is late.", "I am tired.", "Soup again."]
    await resources.of_user("ada").archive.add_messages("t1", [HumanMessage(text, id=text) for text in said])
    await resources.of_user("ada").vectors.embed_pending(timeout=60)

    async def find(timeout: float) -> Any:
        found = await resources.of_user("ada").search.find("now", "QX-4471?", limit=5, threshold=0.99, timeout=timeout)
        assert said[0] in [hit.source_id for hit in found.hits]
        return found.error

    assert "took longer than 0.05 s" in await find(0.05)
    # A timeout of an hour would be waited for, were the model asked.
    assert "has not answered an earlier call yet" in await asyncio.wait_for(find(3600), 60)
    model.go.set()
    async with asyncio.timeout(60):
        while await find(60):
            await asyncio.sleep(0.02)
    await resources.close()


@pytest.mark.parametrize(
    ("vectors", "problem"),
    [([[1.0], [2.0]], "returned 2 vectors for 1 texts"), ([], "returned 0 vectors"), ([[]], "empty or holds NaN"),
     ([[math.nan, 1.0]], "empty or holds NaN"), ([[math.inf]], "empty or holds NaN"),
     ([[1e300]], "empty or holds NaN"), ([[[1.0]]], "empty or holds NaN"), ([0.5], "empty or holds NaN"),
     (None, "something else than vectors"), ([["a"]], "something else than vectors"),
     ([None], "empty or holds NaN"), (0.5, "something else than vectors")],
)  # fmt: skip
async def test_what_is_no_vector_is_refused_in_one_sentence(vectors: Any, problem: str) -> None:
    class Broken(Counted):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return vectors  # type: ignore[no-any-return]

    with pytest.raises(EmbeddingError, match=problem):
        await Embedder("broken", Broken()).documents(["x"], timeout=60)


async def test_a_model_that_returns_no_vectors_fails_no_turn(
    settings: Settings, reopen: Callable[..., open_graph]
) -> None:
    class Broken(Counted):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return None  # type: ignore[return-value]

    async with reopen(embeddings=Broken()) as graph:
        await say(graph, "The kayak is blue.", to="one", user=settings.user_id)
        await graph.asettled()
        state = await say(graph, "Which kayak is blue?", to="two", user=settings.user_id)
    assert "something else than vectors" in state["recall"].error
    assert state["messages"][-1].content


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, StopIteration, asyncio.CancelledError])
async def test_whatever_a_model_raises_reaches_the_caller_as_an_error(error: type[BaseException]) -> None:
    class Leaving(Counted):
        def embed_query(self, text: str) -> list[float]:
            raise error

    with pytest.raises(EmbeddingError, match=error.__name__):
        await Embedder("leaving", Leaving()).query("x", timeout=60)


class Picky(Counted):
    """A model that refuses some texts, and gives a vector without length for an odd one."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any("unspeakable" in text for text in texts):
            raise ValueError("the content filter says no")
        return [
            [0.0] * 8 if "zero" in text else vector
            for text, vector in zip(texts, super().embed_documents(texts), strict=True)
        ]


async def test_a_text_that_the_model_refuses_does_not_keep_the_others_from_being_embedded(settings: Settings) -> None:
    resources = Resources(settings.but(user_id="ada"), embeddings=Picky())
    said = [HumanMessage(text, id=f"m{n}") for n, text in enumerate(["one", "zero", "unspeakable", "two", "three"])]
    await resources.of_user("ada").archive.add_messages("t", said)
    assert await resources.of_user("ada").vectors.embed_pending(timeout=60) == 4
    assert await resources.of_user("ada").vectors.embed_pending(timeout=60) == 0
    near = await resources.of_user("ada").search.nearest("two", limit=9, timeout=60)
    assert near[0].source_id == "m3"
    assert {row.source_id for row in near} == {"m0", "m3", "m4"}
    assert all(-1.001 <= row.cosine <= 1.001 for row in near)
    await resources.of_user("ada").archive.add_messages("t", [HumanMessage("four", id="m5")])
    assert await resources.of_user("ada").vectors.embed_pending(timeout=60) == 1
    await resources.of_user("ada").archive.add_messages(
        "other", [HumanMessage("five", id="m2")]
    )  # the id of the refused one
    assert await resources.of_user("ada").vectors.embed_pending(timeout=60) == 1
    await resources.close()


async def test_a_text_that_the_model_refuses_does_not_stop_a_reindex(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    resources = Resources(settings.but(user_id="ada"), embeddings=Counted())
    for name in ["t", "u"]:
        texts = [*(f"remark {n}" for n in range(200)), "unspeakable", "unspeakable again", "last"]
        said = [HumanMessage(text, id=f"m{n}") for n, text in enumerate(texts)]
        await resources.of_user("ada").archive.add_messages(name, said)
    work = Reindex(UserRows(resources.database, "ada"), Embedder("picky", Picky()), timeout=60)
    assert await work.start() == 406
    assert await work.run() == 402
    assert "4 messages cannot be embedded" in caplog.text
    await resources.close()


@pytest.mark.parametrize("size", [1, 3072, 5000])
async def test_a_model_of_any_number_of_dimensions_recalls_and_is_reindexed(
    settings: Settings, reopen: Callable[..., open_graph], size: int
) -> None:
    """pgvector indexes 2,000 dimensions, or 4,000 in half precision; the exact scan takes any number up to 16,000."""
    opened = reopen(embeddings=Counted(size))
    async with opened as graph:
        await say(graph, "The kayak is blue.", to="one", user=settings.user_id)
        await opened.resources.background.settled()
        near = await opened.resources.of_user(settings.user_id).search.nearest(
            "The kayak is blue.", limit=1, timeout=60
        )
        assert near[0].cosine == pytest.approx(1.0, abs=1e-4)
        new = Embedder("new", DeterministicFakeEmbedding(size=size + 1))
        assert await Reindex(UserRows(opened.resources.database, settings.user_id), new, timeout=60).run() == 2


async def test_more_dimensions_than_postgres_holds_are_refused_with_the_number(settings: Settings) -> None:
    resources = Resources(settings.but(user_id="ada"), embeddings=Counted(16_001))
    await resources.of_user("ada").archive.add_messages("t", [HumanMessage("one", id="a")])
    with pytest.raises(EmbeddingError, match="16001 dimensions: expected 16000 at most"):
        await resources.of_user("ada").vectors.embed_pending(timeout=60)
    await resources.close()


async def test_vectors_of_another_size_under_the_same_name_are_passed_over_and_the_turn_says_so(
    reopen: Callable[..., open_graph],
) -> None:
    """Reports mem0 #4695, #4212, #1575, #3385, #6734: dimensions that do not match the stored ones."""
    async with reopen(embeddings=Counted(8)) as graph:
        await say(graph, "My locker has the number QX-4471.", to="one")
        await say(graph, "And it is green.", to="one")
    async with reopen(embeddings=Counted(12), model=EchoModel(prompts=[])) as graph:
        state = await say(graph, "What was QX-4471?", to="two")
    assert "QX-4471" in str(state["recall"].memories)
    assert "from 'counted' (8 dimensions) to 'counted' (12 dimensions)" in state["recall"].error
    assert "`everthread reindex`" in state["recall"].error


async def test_after_a_reindex_the_turn_says_nothing_more(
    settings: Settings, reopen: Callable[..., open_graph]
) -> None:
    async with reopen(embeddings=Counted(8)) as graph:
        await say(graph, "My locker has the number QX-4471.", to="one")
    opened = reopen(embeddings=Counted(12))
    async with opened as graph:
        assert (await say(graph, "What was QX-4471?", to="two"))["recall"].error
        work = Reindex(UserRows(opened.resources.database, "ada"), opened.resources.embedder, timeout=60)
        await work.start()
        await work.run()
        assert (await say(graph, "What was QX-4471 again?", to="two"))["recall"].error is None


async def test_bulk_embedding_leaves_the_cache_to_the_turns(settings: Settings) -> None:
    model = Counted()
    resources = Resources(settings.but(user_id="ada"), embeddings=model)
    await resources.of_user("ada").archive.add_messages("t", [HumanMessage("one", id="a")])
    await BulkEmbedding(UserRows(resources.database, "ada"), resources.embedder, which="pending", timeout=60).run()
    await resources.embedder.documents(["one"], timeout=60)
    assert model.documents == ["one", "one"]
    await resources.close()


def make() -> Embeddings:
    return DeterministicFakeEmbedding(size=7)


not_embeddings = 42


def test_embeddings_of_ones_own_are_named_by_their_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "my.models", sys.modules[__name__])
    assert len(load_embeddings("my.models:make").embed_query("x")) == 7
    with pytest.raises(EmbeddingError, match=r"module 'my.models' has no 'gone'"):
        load_embeddings("my.models:gone")
    with pytest.raises(EmbeddingError, match="cannot be loaded"):
        load_embeddings("my.models:not_embeddings")


async def test_a_question_waits_for_one_short_batch_of_a_slow_model_and_not_for_the_backlog() -> None:
    sizes: list[int] = []

    class Slow(DeterministicFakeEmbedding):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            sizes.append(len(texts))
            time.sleep(0.05 * len(texts))
            return super().embed_documents(texts)

    embedder = Embedder("slow", Slow(size=8))
    backlogs = [
        asyncio.create_task(embedder.documents([f"text {n} of {who}" for n in range(100)], timeout=60))
        for who in ("ada", "bob", "cy")
    ]
    async with asyncio.timeout(60):
        while len(sizes) < 4:  # by then the batches are short
            await asyncio.sleep(0.01)
    before = len(sizes)
    await embedder.query("and now?", timeout=60)
    assert sum(sizes[before:]) <= 2 * 16  # of the 300
    assert max(sizes[4:] or [0]) <= 16
    for backlog in backlogs:
        backlog.cancel()
    await asyncio.gather(*backlogs, return_exceptions=True)
