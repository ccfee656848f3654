"""`MemoryStore`: a memory as LangGraph's store. The contract is that of LangGraph's own, on each storage."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from conversation import EchoModel, thread
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.embeddings import Embeddings
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from scripted import calls, scripted

from everthread import (
    ConversationMemory,
    Everthread,
    InputError,
    MemoryStore,
    Settings,
    examine,
    open_graph,
    open_memory,
)
from everthread.maintenance.transfer import export_rows, import_rows
from everthread.maintenance.transfer_format import check_file


class Letters(Embeddings):
    """A text by how often it holds each letter: texts of like words are alike."""

    def embed_query(self, text: str) -> list[float]:
        return [text.casefold().count(chr(97 + n)) + 0.01 for n in range(26)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class Broken(Embeddings):
    """A provider that is down."""

    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("down")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("down")


@pytest.fixture
async def memory(stored: Settings) -> AsyncIterator[ConversationMemory]:
    async with open_memory(stored, user_id="ada", embeddings=Letters()) as memory:
        yield memory


@pytest.fixture
def store(memory: ConversationMemory) -> MemoryStore:
    return MemoryStore(memory)


async def test_a_document_is_put_got_put_anew_and_deleted(store: MemoryStore) -> None:
    await store.aput(("a", "b"), "k", {"n": 1, "text": 'with "quotes", \0 and 漢字'})
    first = await store.aget(("a", "b"), "k")
    assert first is not None
    assert (first.namespace, first.key, first.value["text"]) == (("a", "b"), "k", 'with "quotes", \0 and 漢字')
    await asyncio.sleep(0.01)
    await store.aput(("a", "b"), "k", {"n": 2})
    again = await store.aget(("a", "b"), "k")
    assert again is not None
    assert again.value == {"n": 2}
    assert again.created_at == first.created_at
    assert again.updated_at > first.updated_at
    assert await store.aget(("a",), "k") is None
    await store.adelete(("a", "b"), "k")
    assert await store.aget(("a", "b"), "k") is None
    assert await store.alist_namespaces() == []


async def test_a_batch_answers_in_its_order_and_reads_nothing_that_it_writes(store: MemoryStore) -> None:
    await store.aput(("test", "foo"), "1", {"data": "one"})
    await store.aput(("test", "bar"), "2", {"data": "two"})
    found: Any = await store.abatch([
        GetOp(("test", "foo"), "1"), PutOp(("test",), "3", {"data": "three"}),
        SearchOp(("test",), filter={"data": "one"}), ListNamespacesOp(), GetOp(("test",), "3"),
        PutOp(("test",), "3", {"data": "the last"}), PutOp(("test", "bar"), "2", None),
    ])  # fmt: skip
    assert (found[0].value, found[1], [one.key for one in found[2]], found[4]) == ({"data": "one"}, None, ["1"], None)
    assert found[3] == [("test", "bar"), ("test", "foo")]
    after: Any = await store.abatch([GetOp(("test",), "3"), GetOp(("test", "bar"), "2")])
    assert (after[0].value, after[1]) == ({"data": "the last"}, None)


async def test_a_search_filters_pages_and_keeps_to_the_namespace(store: MemoryStore) -> None:
    for n, (place, tag) in enumerate([("docs", "a"), ("docs", "b"), ("docs2", "a")]):
        await store.aput(("test", place), str(n), {"tag": tag, "n": n, "deep": {"x": n}, "list": [n]})

    async def found(*prefix: str, **options: Any) -> list[str]:
        return sorted(item.key for item in await store.asearch(prefix, **options))

    assert await found() == await found("test") == ["0", "1", "2"]
    assert await found("test", "docs") == ["0", "1"]
    assert await found("test", filter={"tag": "a"}) == ["0", "2"]
    assert await found("test", filter={"tag": "a", "n": {"$gt": 1}}) == ["2"]
    assert await found("test", filter={"n": {"$gte": 1, "$lt": 2}}) == ["1"]
    assert await found("test", filter={"n": {"$ne": 1}}) == ["0", "2"]
    assert await found("test", filter={"deep": {"x": {"$lte": 0}}}) == ["0"]
    assert await found("test", filter={"list": [2]}) == ["2"]
    assert await found("test", filter={"none": {"$gt": 0}}) == []
    pages = [[item.key for item in await store.asearch(("test",), limit=2, offset=at)] for at in (0, 2)]
    assert pages == [["2", "1"], ["0"]]
    with pytest.raises(InputError, match=r"\$eq"):
        await found("test", filter={"n": {"$in": [1]}})


async def test_namespaces_are_listed_by_prefix_suffix_and_depth(store: MemoryStore) -> None:
    for name in ("a.b.c", "a.b.d.e", "a.b.d.i", "a.b.f", "a.c.f", "b.a.f", "users.1.settings"):
        await store.aput(tuple(name.split(".")), "id", {"x": 1})

    async def listed(*conditions: MatchCondition, **options: Any) -> list[str]:
        (found,) = await store.abatch([ListNamespacesOp(match_conditions=conditions, **options)])
        return [".".join(one) for one in found or ()]  # type: ignore[arg-type, union-attr]  # a union of all results

    assert await listed(MatchCondition("prefix", ("a", "b"))) == ["a.b.c", "a.b.d.e", "a.b.d.i", "a.b.f"]
    assert await listed(MatchCondition("suffix", ("f",))) == ["a.b.f", "a.c.f", "b.a.f"]
    assert await listed(MatchCondition("prefix", ("a",)), MatchCondition("suffix", ("f",))) == ["a.b.f", "a.c.f"]
    assert await listed(MatchCondition("prefix", ("*", "a"))) == ["b.a.f"]
    assert await listed(MatchCondition("suffix", ("*", "settings"))) == ["users.1.settings"]
    assert await listed(max_depth=3, limit=2, offset=1) == ["a.b.d", "a.b.f"]


async def test_a_query_brings_the_most_similar_first_and_what_is_not_indexed_last(store: MemoryStore) -> None:
    await store.aput(("t",), "zebra", {"text": "zany zebra xerxes"})
    await store.aput(("t",), "dogs", {"text": "something about dogs"})
    await store.aput(("t",), "hidden", {"text": "zany zebra xerxes"}, index=False)
    await store.aput(("t",), "title", {"title": "zany xerxes", "text": "mmmm"}, index=["title"])
    found = await store.asearch(("t",), query="zany xerxes")
    assert [item.key for item in found] == ["title", "zebra", "dogs", "hidden"]
    assert found[0].score == pytest.approx(1.0)
    assert found[3].score is None
    assert [one.key for one in await store.asearch(("t",), query="zany xerxes", limit=1, offset=1)] == ["zebra"]
    await store.aput(("t",), "zebra", {"text": "mmmm"})
    assert [one.key for one in await store.asearch(("t",), query="zany xerxes", limit=2)] == ["title", "dogs"]
    assert len(await store.asearch(("t",), query="")) == 4


async def test_each_text_of_a_field_counts(memory: ConversationMemory) -> None:
    store = MemoryStore(memory, fields=["notes[*].text", "title"])
    await store.aput(("t",), "one", {"notes": [{"text": "aaa"}, {"text": "zzz"}], "other": "qqq"})
    await store.aput(("t",), "two", {"title": "kkk"})
    for query, key in (("zzz", "one"), ("aaa", "one"), ("kkk", "two")):
        first = (await store.asearch(("t",), query=query))[0]
        assert (first.key, first.score) == (key, pytest.approx(1.0))
    assert max(item.score or 0 for item in await store.asearch(("t",), query="qqq")) < 0.9


async def test_what_could_not_be_embedded_is_kept_and_embedded_by_a_later_search(stored: Settings) -> None:
    async with open_memory(stored, user_id="ada", embeddings=Broken()) as memory:
        await MemoryStore(memory).aput(("t",), "k", {"text": "zebra"})
        assert [one.score for one in await MemoryStore(memory).asearch(("t",), query="zebra")] == [None]
    async with open_memory(stored, user_id="ada", embeddings=Letters()) as memory:
        for _ in range(2):
            assert (await MemoryStore(memory).asearch(("t",), query='{"text": "zebra"}'))[0].score is not None


async def test_nothing_of_another_users_store_is_found_or_changed(memory: ConversationMemory) -> None:
    mine, other = MemoryStore(memory), MemoryStore(memory.of("bob"))
    await mine.aput(("t",), "k", {"text": "mine"})
    assert await other.aget(("t",), "k") is None
    assert [await other.asearch(()), await other.asearch((), query="mine"), await other.alist_namespaces()] == [[]] * 3
    await other.aput(("t",), "k", {"text": "other"})
    await other.adelete(("t",), "k")
    assert (await mine.aget(("t",), "k")).value == {"text": "mine"}  # type: ignore[union-attr]  # or this fails


async def test_what_cannot_be_stored_is_refused_with_a_sentence(store: MemoryStore) -> None:
    for op in (PutOp(("a.b",), "k", {}), PutOp(("a", ""), "k", {}), PutOp((), "k", {}), PutOp(("a",), "\0", {}),
               PutOp(("a",), "k", {"x": object()}), GetOp(("\ud800",), "k")):  # fmt: skip
        with pytest.raises(InputError, match="expected"):
            await store.abatch([op])
    assert await store.alist_namespaces() == []


async def test_forgetting_takes_what_repeats_a_message_and_everything_takes_all(memory: ConversationMemory) -> None:
    store = MemoryStore(memory)
    await memory.aremember([("user", "My locker code is 4711-Brindisi."), ("user", "I like tea.")], thread_id="t1")
    await store.aput(("notes",), "said", {"list": [{"text": "The user: My locker code is 4711-Brindisi. Noted."}]})
    await store.aput(("notes",), "tea", {"text": "green"})
    await MemoryStore(memory.of("bob")).aput(("notes",), "bobs", {"text": "My locker code is 4711-Brindisi."})
    first = (await memory.ahistory("t1"))[0]
    gone = await memory.aforget("t1", messages=[first.id])
    assert gone.documents == 1
    assert [item.key for item in await store.asearch(())] == ["tea"]
    assert (await memory.adelete()).documents == 1
    assert await store.asearch(()) == []
    assert len(await MemoryStore(memory.of("bob")).asearch(())) == 1


def test_it_works_in_blocking_code_as_well(settings: Settings) -> None:
    with open_memory(settings, user_id="ada", embeddings=Letters()) as memory:
        store = MemoryStore(memory)
        store.put(("t",), "k", {"text": "zebra"})
        assert store.search(("t",), query="zebra")[0].key == "k"
        store.delete(("t",), "k")
        assert store.get(("t",), "k") is None


@tool
def note(text: str, runtime: ToolRuntime) -> str:
    """Keep a note."""
    assert runtime.store is not None
    runtime.store.put(("notes",), "newest", {"text": text})
    return "Kept."


async def test_one_store_serves_the_users_of_an_agent_apart(settings: Settings, echo: EchoModel) -> None:
    middleware = Everthread(settings, embeddings=Letters())
    store = MemoryStore(middleware.memory("nobody"), user_of_run=True)
    model = scripted(calls(("note", {"text": "tea"})), "Done.", calls(("note", {"text": "milk"})), "Done.")
    agent = create_agent(model, [note], middleware=[middleware], checkpointer=InMemorySaver(), store=store)
    for user in ("ada", "bob"):
        await agent.ainvoke({"messages": [("user", "Note it.")]}, thread(user), context={"user_id": user})
    for user, text in (("ada", "tea"), ("bob", "milk")):
        found = await MemoryStore(middleware.memory(user)).aget(("notes",), "newest")
        assert found is not None
        assert found.value == {"text": text}
    assert await MemoryStore(middleware.memory("nobody")).asearch(()) == []
    with pytest.raises(InputError, match="outside of a run"):
        await store.aget(("notes",), "newest")
    await middleware.aclose()


async def test_documents_travel_with_an_export_and_stay_as_they_were(
    memory: ConversationMemory, tmp_path: Path
) -> None:
    store, file = MemoryStore(memory), tmp_path / "all.jsonl"
    await store.aput(("a", "b"), "k", {"text": "zebra", "n": [1, None]}, index=["text"])
    before = (await store.aget(("a", "b"), "k")).dict()  # type: ignore[union-attr]  # or this fails
    assert (await export_rows(memory.user.rows, file, written=lambda *_: None)).documents == 1
    other = memory.of("bob")
    added = await import_rows(other.user.rows, file, check_file(file), added=lambda _: None)
    assert added.documents == 1
    assert (await MemoryStore(other).aget(("a", "b"), "k")).dict() == before  # type: ignore[union-attr]  # or this fails
    assert (await MemoryStore(other).asearch(("a",), query="zebra"))[0].score == pytest.approx(1.0)
    await store.aput(("a", "b"), "k", {"text": "newer"})
    assert (await import_rows(memory.user.rows, file, check_file(file), added=lambda _: None)).documents == 0
    assert (await store.aget(("a", "b"), "k")).value == {"text": "newer"}  # type: ignore[union-attr]  # or this fails
    lines = file.read_text().splitlines()
    for wrong in ('"namespace": "a..b"', '"content": "[]"'):
        name = wrong.split(":")[0]
        bad = [re.sub(rf'{name}: "(?:[^"\\]|\\.)*"', lambda _, text=wrong: text, line) for line in lines]
        file.write_text("\n".join(bad))
        with pytest.raises(InputError):
            check_file(file)


async def test_the_doctor_finds_damaged_documents_and_mends_them(stored: Settings) -> None:
    async with open_graph(stored, model=EchoModel(prompts=[]), embeddings=Letters()) as graph:
        memory = ConversationMemory(graph.resources, "ada")
        store = MemoryStore(memory)
        for key in ("whole", "no vectors", "no value"):
            await store.aput(("a", "b"), key, {"text": key}, index=["text"])
        assert await examine(graph, "ada") == []
        storage: Any = graph.resources.database
        change = storage.run if storage.kind == "postgres" else storage.on_thread
        for damage, key in (("vectors = 'x'", "no vectors"), ("content = '{'", "no value")):
            statement = f"UPDATE documents SET {damage} WHERE key = '{key}'"
            await change(lambda connection, statement=statement: connection.execute(statement))
        (checkup,) = await examine(graph, "ada")
        assert set(checkup.findings[0].ids) == {"a.b/no vectors", "a.b/no value"}
        (checkup,) = await examine(graph, "ada", repair=True)
        assert checkup.healthy
        assert await examine(graph, "ada") == []
        assert {item.key for item in await store.asearch(("a",), query="whole")} == {"whole", "no vectors"}
