"""What a user wants deleted is gone as a whole, with all that was made from it; and nothing else is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from command import run
from conversation import WaitingModel, say
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from everthread import InputError, Settings, StorageError, open_graph
from everthread.facts.extraction import Occasion, extract
from everthread.graph.conversation import Conversation
from everthread.storage import vector_rows
from everthread.storage.user_rows import UserRows


def left(settings: Settings) -> dict[tuple[str, str], int]:
    """How many rows each table holds of each thread."""
    assert settings.database_url is not None
    counts: dict[tuple[str, str], int] = {}
    with psycopg.connect(settings.database_url.get_secret_value()) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.columns WHERE table_schema = %s AND column_name = 'thread_id'",
            [settings.database_schema],
        ).fetchall()
        for (table,) in tables:
            query = f'SELECT thread_id, count(*) FROM "{settings.database_schema}"."{table}" GROUP BY 1'
            counts |= {(table, thread): number for thread, number in connection.execute(query).fetchall()}  # type: ignore[call-overload]
    return counts


async def fill(graph: Any, to: str, user: str = "ada") -> None:
    for n in range(5):
        await say(graph, f"My name is Ada{n}, I live in Porto and my locker is QX-{n}.", to=to, user=user)
    await say(graph, f"Remember that my alarm code of {to} is ZZ-12.", to=to, user=user)
    await graph.asettled()  # facts are learned, and what was said is embedded, in the background
    summary = (await graph.resources.of_user(user).archive.summaries(to))[0]
    again = summary.model_copy(update={"content": "A newer text.", "version": 2})
    await graph.resources.of_user(user).summaries.replace(to, again)


async def test_a_deleted_thread_leaves_nothing_in_any_table_and_others_keep_everything(
    graph: Conversation, settings: Settings
) -> None:
    """Report mem0 #5529: a deletion left what was derived from the messages."""
    for to, user in (("t2", "ada"), ("t3", "bob"), ("t1", "ada")):  # nothing of t1 was there to be quoted in others
        await fill(graph, to, user)
    before = await asyncio.to_thread(left, settings)
    assert {table for table, thread in before if thread == "t1"} >= {
        "messages", "summaries", "vectors", "facts", "pins", "turn_reports", "threads", "checkpoints",
        "checkpoint_blobs", "summary_versions",
    }  # fmt: skip
    gone = await graph.adelete("ada", "t1")
    assert gone.threads == 1
    assert gone.messages == before["messages", "t1"] == 12
    assert gone.summaries == before["summaries", "t1"]
    after = await asyncio.to_thread(left, settings)
    assert after == {key: number for key, number in before.items() if key[1] != "t1"}
    state = await say(graph, "Which locker and which alarm code of t1?", to="t4")
    assert all("t1" not in memory.thread_id for memory in state["recall"].memories)
    assert "of t1 is ZZ-12" not in str(state["facts"])


async def test_a_deleted_user_leaves_nothing(graph: Conversation, settings: Settings) -> None:
    for to, user in (("t1", "ada"), ("t2", "ada"), ("t3", "bob")):
        await fill(graph, to, user)
    gone = await graph.adelete("ada")
    assert (gone.threads, gone.messages) == (2, 24)
    assert {thread for _, thread in await asyncio.to_thread(left, settings)} == {"t3"}
    assert (await graph.adelete("ada")).threads == 0


async def test_nobody_deletes_the_thread_of_somebody_else(graph: Conversation, settings: Settings) -> None:
    await fill(graph, "t1")
    before = await asyncio.to_thread(left, settings)
    with pytest.raises(InputError, match="There is no thread 't1' of this user"):
        await graph.adelete("bob", "t1")
    assert (await graph.adelete("bob")).threads == 0
    assert await asyncio.to_thread(left, settings) == before


async def test_a_deletion_that_fails_half_way_deletes_nothing(graph: Conversation, settings: Settings) -> None:
    """Report mem0 #5553: `delete_all` aborted half-way."""
    await fill(graph, "t1")
    before = await asyncio.to_thread(left, settings)
    assert settings.database_url is not None
    url, schema = settings.database_url.get_secret_value(), settings.database_schema
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as by_hand:
        await by_hand.execute(
            f'CREATE FUNCTION "{schema}".refuse() RETURNS trigger LANGUAGE plpgsql AS '  # type: ignore[arg-type]
            "$$BEGIN RAISE EXCEPTION 'not today'; END$$"
        )
        await by_hand.execute(
            f'CREATE TRIGGER refuse BEFORE DELETE ON "{schema}".threads EXECUTE FUNCTION "{schema}".refuse()'  # type: ignore[arg-type]
        )
    with pytest.raises(StorageError, match="not today"):
        await graph.adelete("ada", "t1")
    assert await asyncio.to_thread(left, settings) == before


async def test_a_running_turn_is_waited_for_and_then_deleted_with_the_rest(
    settings: Settings, reopen: Callable[..., open_graph]
) -> None:
    model = WaitingModel(prompts=[], go=threading.Event(), begun=threading.Event())
    async with reopen(model=model) as graph:
        turn = asyncio.create_task(say(graph, "My locker is QX-4471.", to="t1"))
        await asyncio.to_thread(model.begun.wait, 60)
        deleting = asyncio.create_task(graph.adelete("ada", "t1"))  # type: ignore[attr-defined]
        await asyncio.sleep(0.3)
        assert not deleting.done()
        model.go.set()
        await turn
        assert (await deleting).messages == 2
    assert await asyncio.to_thread(left, settings) == {}


async def test_work_in_the_background_does_not_bring_back_what_is_gone(graph: Conversation, settings: Settings) -> None:
    await fill(graph, "t1")
    resources = graph.resources
    rows = [
        {"source_type": "message", "thread_id": "t1", "id": m.id, "role": m.role, "name": None, "text": m.text,
         "created_at": m.created_at, "embedded_with": None, "version": 1}
        for m in await resources.of_user("ada").archive.messages("t1")
    ]  # fmt: skip
    said = [Occasion("t1", row["id"], row["created_at"]) for row in rows]
    found = extract(rows[0]["text"], said[0])
    assert found
    await graph.adelete("ada", "t1")
    vectors = [[1.0, 0.0]] * len(rows)
    user = UserRows(resources.database, "ada")
    await vector_rows.write_vectors(user, "m", rows, [[row["text"]] for row in rows], vectors)
    kept = await resources.of_user("ada").facts.update(
        found, lambda ledger: ledger._replace(facts=(*ledger.facts, *found)), read=said
    )
    assert kept == ()
    assert await asyncio.to_thread(left, settings) == {}


async def known(graph: Conversation) -> dict[str, tuple[str, str]]:
    """What is known about ada: each fact's thread and state."""
    await graph.asettled()
    return {fact.text: (fact.thread_id, fact.state) for fact in await graph.resources.of_user("ada").facts.all_facts()}


async def test_what_was_said_in_another_thread_too_is_known_after_a_deletion(graph: Conversation) -> None:
    await say(graph, "I live in Porto.", to="t1")
    await say(graph, "My sister lives in Lyon.", to="t1")
    await say(graph, "I live in Porto.", to="t2")
    assert (await known(graph))["I live in Porto"] == ("t1", "current")
    await graph.adelete("ada", "t1")
    await say(graph, "The bus is late.", to="t3")
    assert await known(graph) == {"I live in Porto": ("t2", "current")}


async def test_a_deletion_does_not_bring_back_what_the_user_wanted_forgotten(graph: Conversation) -> None:
    await say(graph, "I live in Porto.", to="t1")
    await say(graph, "I live in Porto.", to="t2")
    await say(graph, "Forget where I live.", to="t3")
    assert await known(graph) == {}
    await graph.adelete("ada", "t1")
    await say(graph, "The bus is late.", to="t3")
    assert await known(graph) == {}


async def test_what_a_deleted_thread_had_contradicted_holds_again(graph: Conversation) -> None:
    await say(graph, "I live in Porto.", to="t1")
    await say(graph, "I moved to Lisbon.", to="t2")
    assert await known(graph) == {"I live in Porto": ("t1", "superseded"), "I moved to Lisbon": ("t2", "current")}
    await graph.adelete("ada", "t2")
    assert await known(graph) == {"I live in Porto": ("t1", "current")}
    state = await say(graph, "Where do I live?", to="t3")
    assert [fact.text for fact in state["facts"].facts] == ["I live in Porto"]


async def test_a_vector_store_of_ones_own_is_emptied_as_well(
    embeddings: Embeddings, reopen: Callable[..., open_graph]
) -> None:
    store = InMemoryVectorStore(embeddings)
    async with reopen(vector_store=store) as graph:
        await say(graph, "My locker is QX-4471.", to="t1")
        await say(graph, "The bus is late.", to="t2")
        await graph.asettled()  # type: ignore[attr-defined]
        assert len(store.store) == 4
        await graph.adelete("ada", "t1")  # type: ignore[attr-defined]
    assert {entry["metadata"]["conversation_id"] for entry in store.store.values()} == {"t2"}


def test_the_command_deletes_what_is_named_and_asks_before(environment: dict[str, str]) -> None:
    run(environment, "chat", "--thread", "work", typed="My locker is QX-4471.\n")
    assert "Name the thread to delete" in run(environment, "delete").stderr
    assert "Aborted" in run(environment, "delete", "work", typed="n\n").stderr
    unknown = run(environment, "delete", "wrok", typed="y\n")
    assert "There is no thread 'wrok'" in unknown.stderr
    assert "for good" not in unknown.stdout
    assert "work" in run(environment, "threads").stdout
    assert "Deleted: 1 thread, 2 messages" in run(environment, "delete", "work", "--yes").stdout
    assert "work" not in run(environment, "threads").stdout
    assert "There is no thread" in run(environment, "delete", "work", "--yes").stderr
