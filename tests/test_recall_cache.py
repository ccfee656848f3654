"""A process holds users' memories to search them; what it finds is what the database holds, whoever wrote it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import psycopg
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage

from everthread import Settings
from everthread.memory import recall_cache
from everthread.memory.vectors import NearSource
from everthread.runtime.resources import Resources
from everthread.state.errors import StorageUnreachable
from everthread.storage import memory_changes
from everthread.storage.postgres.queries import QUERIES
from everthread.storage.user_rows import UserRows


@pytest.fixture
async def resources(settings: Settings) -> AsyncIterator[Resources]:
    made = Resources(settings, embeddings=DeterministicFakeEmbedding(size=8))
    yield made
    await made.close()


@pytest.fixture
async def elsewhere(settings: Settings) -> AsyncIterator[Resources]:
    """Another process on the same tables."""
    made = Resources(settings, embeddings=DeterministicFakeEmbedding(size=8))
    yield made
    await made.close()


async def say(resources: Resources, *texts: str, thread: str = "t1", user: str = "ada") -> None:
    said = [HumanMessage(text, id=text) for text in texts]
    await resources.of_user(user).archive.add_messages(thread, said)


async def found(resources: Resources, question: str, user: str = "ada") -> set[str]:
    recall = await resources.of_user(user).search.find("now", question, limit=50, threshold=1.0, timeout=60)
    assert recall.error is None
    return {hit.source_id for hit in recall.hits}


CHAT = ["The bus is late.", "It rains.", "Soup again.", "I am tired.", "The cat sleeps."]


async def sql(settings: Settings, schema: str) -> psycopg.AsyncConnection[tuple[object, ...]]:
    assert settings.database_url is not None
    connection = await psycopg.AsyncConnection.connect(settings.database_url.get_secret_value())
    await connection.execute(f'SET search_path TO "{schema}", public')
    return connection


async def all_by_meaning(resources: Resources) -> list[NearSource]:
    await resources.of_user("ada").let_go()
    return await resources.of_user("ada").search.nearest("locker", limit=1_000, timeout=60)


async def test_a_large_memory_is_read_in_parts_as_if_it_were_read_at_once(
    stored: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = Resources(stored, embeddings=DeterministicFakeEmbedding(size=8))
    for thread in ("t1", "t2", "t3"):
        await say(resources, *(f"{thread}: {text}" for text in CHAT), thread=thread)  # more than a part together
        await resources.of_user("ada").vectors.embed_pending(timeout=60)
    at_once = await all_by_meaning(resources)
    assert len(at_once) == 3 * len(CHAT)
    monkeypatch.setattr(memory_changes, "BATCH", 3)
    assert await all_by_meaning(resources) == at_once
    await say(resources, "My locker is QX-4471.", *(f"More {n}" for n in range(9)), thread="t2")
    assert "My locker is QX-4471." in await found(resources, "QX-4471")
    assert len(await all_by_meaning(resources)) == len(at_once) + 10
    await resources.close()


async def test_parts_follow_the_numbers_of_transactions_however_many_digits_they_have(
    resources: Resources, settings: Settings, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(resources, *(f"Remark {n}" for n in range(30)))
    await resources.of_user("ada").vectors.embed_pending(timeout=60)
    at_once = await all_by_meaning(resources)
    async with await sql(settings, schema) as by_hand:
        for table, id_ in (("messages", "id"), ("vectors", "source_id")):
            await by_hand.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            await by_hand.execute(f"UPDATE {table} SET changed = ((4 + substr({id_}, 8)::int * 9)::text)::xid8")
            await by_hand.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    monkeypatch.setattr(memory_changes, "BATCH", 3)
    assert await all_by_meaning(resources) == at_once


async def test_what_is_deleted_after_reading_broke_off_is_not_found(
    resources: Resources, settings: Settings, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(resources, "My locker is QX-4471.")
    await say(resources, *CHAT)
    await resources.of_user("ada").vectors.embed_pending(timeout=60)
    read, calls = UserRows.tuples, count()

    async def breaking(self: UserRows, *queries: Any) -> list[list[tuple[Any, ...]]]:
        if next(calls) == 1:
            raise StorageUnreachable("The server was stopped.")
        return await read(self, *queries)

    monkeypatch.setattr(memory_changes, "BATCH", 3)
    with monkeypatch.context() as once:
        once.setattr(UserRows, "tuples", breaking)
        with pytest.raises(StorageUnreachable):
            await all_by_meaning(resources)
    async with await sql(settings, schema) as by_hand:
        await by_hand.execute("DELETE FROM vectors WHERE source_id = 'My locker is QX-4471.'")
        await by_hand.execute("DELETE FROM messages WHERE id = 'My locker is QX-4471.'")
    near = await resources.of_user("ada").search.nearest("locker", limit=100, timeout=60)
    assert {source.source_id for source in near} == set(CHAT)


async def test_where_a_standby_ends_while_it_is_read_the_server_is_read(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(resources, *CHAT, "My locker is QX-4471.")
    await resources.of_user("ada").vectors.embed_pending(timeout=60)
    at_once, read = await all_by_meaning(resources), UserRows.tuples

    class Ending(UserRows):
        is_over = False

        async def tuples(self, *queries: Any) -> list[list[tuple[Any, ...]]]:
            if self.is_over:
                raise StorageUnreachable("The standby has ended.")
            self.is_over = True
            return await read(self, *queries)

    monkeypatch.setattr(UserRows, "of_standby", lambda self: Ending(self.storage, self.user_id))
    monkeypatch.setattr(memory_changes, "BATCH", 3)
    assert await all_by_meaning(resources) == at_once


async def test_what_another_process_wrote_is_found_by_the_next_question(
    resources: Resources, elsewhere: Resources
) -> None:
    await say(resources, *CHAT)
    assert await found(resources, "Where is locker QX-4471?") == set()
    await say(elsewhere, "My locker is QX-4471.")
    await say(elsewhere, "Locker QX-4471 again.", thread="t0")
    assert {"My locker is QX-4471.", "Locker QX-4471 again."} <= await found(resources, "Where is locker QX-4471?")


async def test_what_was_committed_late_is_found_though_later_writing_was_seen_before(
    resources: Resources, settings: Settings, schema: str
) -> None:
    """A message whose transaction began before others and ended after them must not be passed over."""
    await say(resources, *CHAT)
    late = await sql(settings, schema)
    await late.execute(
        "INSERT INTO messages (user_id, thread_id, id, seq, role, text, message, tokens, created_at) "
        "SELECT user_id, 'late', 'l', 1, role, 'My locker is QX-4471.', message, 9, now() FROM messages WHERE id = %s",
        [CHAT[0]],
    )  # fmt: skip
    await say(resources, "The dog barks.", thread="t2")
    assert "l" not in await found(resources, "QX-4471")
    await late.commit()
    assert "l" in await found(resources, "QX-4471")
    await late.close()


async def test_what_was_deleted_or_changed_by_hand_is_not_found_as_it_was(
    resources: Resources, settings: Settings, schema: str
) -> None:
    await say(resources, *CHAT, "My locker is QX-4471.", "The code of the alarm is ZZ-12.")
    assert "My locker is QX-4471." in await found(resources, "QX-4471")
    assert "The code of the alarm is ZZ-12." in await found(resources, "ZZ-12")
    async with await sql(settings, schema) as by_hand:
        await by_hand.execute("DELETE FROM vectors WHERE source_id = 'My locker is QX-4471.'")
        await by_hand.execute("DELETE FROM messages WHERE id = 'My locker is QX-4471.'")
        await by_hand.execute("UPDATE messages SET term_keys = '{}' WHERE id = 'The code of the alarm is ZZ-12.'")
    assert "My locker is QX-4471." not in await found(resources, "QX-4471")
    assert "The code of the alarm is ZZ-12." not in await found(resources, "ZZ-12")


async def test_rows_restored_from_another_server_are_found_and_read_once(
    resources: Resources, settings: Settings, schema: str
) -> None:
    """Transaction numbers of another server may lie far ahead of this one's."""
    await say(resources, *CHAT, "My locker is QX-4471.")
    await resources.of_user("ada").vectors.embed_pending(timeout=60)
    async with await sql(settings, schema) as by_hand:
        for table in ("messages", "vectors"):
            await by_hand.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            await by_hand.execute(f"UPDATE {table} SET changed = '999999999999'")
            await by_hand.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    assert "My locker is QX-4471." in await found(resources, "QX-4471")
    async with await sql(settings, schema) as by_hand:
        cursor = await by_hand.execute("SELECT count(*) FROM messages WHERE changed = '999999999999'")
        assert await cursor.fetchone() == (0,)


@pytest.mark.parametrize("query", ["memory.head", "vectors.pending"])
async def test_what_is_asked_for_in_every_turn_reads_no_whole_table_after_an_import(
    resources: Resources, settings: Settings, schema: str, query: str
) -> None:
    """The server's statistics are from the moment when nothing of the import was embedded."""
    await say(resources, *(f"Remark {n}." for n in range(2000)))
    async with await sql(settings, schema) as by_hand:
        await by_hand.execute("ANALYZE messages")
        await by_hand.execute("UPDATE messages SET embedded_with = 'x'")
        values = {"user_id": "ada", "model": "x", "refused": [], "limit": 64}
        plan = str(await (await by_hand.execute(f"EXPLAIN {QUERIES[query]}", values)).fetchall())
    assert "messages_embed_next" in plan
    assert "Seq Scan on messages" not in plan


async def test_with_no_room_for_two_users_each_is_answered_from_their_own_memory(settings: Settings) -> None:
    resources = Resources(settings.but(recall_cache=1), embeddings=DeterministicFakeEmbedding(size=2048))
    for user in ("ada", "bob"):
        await say(resources, *CHAT, *(f"Number {n} of {user}." for n in range(80)), f"QX-4471 {user}", user=user)
    for _ in range(2):
        for user in ("ada", "bob"):
            assert await found(resources, "QX-4471", user=user) >= {f"QX-4471 {user}"}
            assert not any("bob" in id_ for id_ in await found(resources, "QX-4471 bob", user="ada"))
    await resources.close()


async def test_a_question_in_many_tasks_at_once_finds_the_same(resources: Resources) -> None:
    import asyncio

    await say(resources, *CHAT, "My locker is QX-4471.")
    results = await asyncio.gather(*(found(resources, "QX-4471") for _ in range(8)))
    assert all("My locker is QX-4471." in result for result in results)


async def test_a_chunk_at_the_end_of_a_long_message_is_found_once(resources: Resources) -> None:
    long = "Word after word. " * 200 + "The vault opens with ZZ-99."
    said = [HumanMessage(long, id="long"), AIMessage("Noted.", id="r")]
    await resources.of_user("ada").archive.add_messages("t1", said)
    await resources.of_user("ada").vectors.embed_pending(timeout=60)
    near = await resources.of_user("ada").search.nearest("The vault opens with ZZ-99.", limit=9, timeout=60)
    assert sorted(source.source_id for source in near) == ["long", "r"]


def code(n: int) -> str:
    return f"My locker is QX-{4471 + n}."


async def finds(resources: Resources, n: int, *, in_part: bool) -> tuple[bool, bool]:
    """Whether a message with a code is found, and whether it is said that older ones were not searched."""
    search = resources.of_user("ada").search
    recall = await search.find("now", f"QX-{4471 + n}", limit=50, threshold=1.0, in_part=in_part, timeout=60)
    return code(n) in {hit.source_id for hit in recall.hits}, recall.error is not None


@pytest.fixture
async def of_two_at_a_time(stored: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Resources]:
    """A memory of twelve messages that is to be read anew: two at a time, of which four are enough to begin with."""
    made = Resources(stored, embeddings=DeterministicFakeEmbedding(size=8))
    for n in range(12):
        await say(made, code(n))
    await made.of_user("ada").vectors.embed_pending(timeout=60)
    await made.of_user("ada").let_go()
    monkeypatch.setattr(memory_changes, "BATCH", 2)
    monkeypatch.setattr(recall_cache, "FIRST", 4)
    yield made
    await made.close()


async def test_of_a_large_memory_the_newest_are_searched_while_the_others_are_read(
    of_two_at_a_time: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources, go_on, read = of_two_at_a_time, threading.Event(), recall_cache._whole

    async def waiting(*given: Any) -> Any:
        await asyncio.to_thread(go_on.wait, 60)
        return await read(*given)

    monkeypatch.setattr(recall_cache, "_whole", waiting)
    assert await finds(resources, 11, in_part=True) == (True, True)
    assert await finds(resources, 0, in_part=True) == (False, True)
    whole = asyncio.ensure_future(finds(resources, 0, in_part=False))
    await say(resources, code(12))
    assert await finds(resources, 12, in_part=True) == (True, True)  # it does not wait for the other
    go_on.set()
    assert await whole == (True, False)
    assert await finds(resources, 12, in_part=True) == (True, False)
    assert len(await resources.of_user("ada").search.nearest("locker", limit=1_000, timeout=60)) == 13


async def test_what_is_deleted_while_the_others_are_read_is_not_found(
    of_two_at_a_time: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources, read, calls = of_two_at_a_time, recall_cache._whole, count()

    async def late(*given: Any) -> Any:
        if next(calls):
            return await read(*given)
        found = await read(*given)
        await asyncio.sleep(60)  # until it is cancelled
        return found

    monkeypatch.setattr(recall_cache, "_whole", late)
    assert await finds(resources, 11, in_part=True) == (True, True)
    rows = resources.of_user("ada").rows
    for table, id_ in (("vectors", "source_id"), ("messages", "id")):
        await rows.fetch(f"DELETE FROM {table} WHERE user_id = {parameter(resources)} AND {id_} = '{code(11)}'")
    assert (await finds(resources, 11, in_part=True))[0] is False
    assert await finds(resources, 0, in_part=False) == (True, False)
    assert await finds(resources, 11, in_part=False) == (False, False)


async def test_where_the_others_cannot_be_read_who_waits_for_them_is_told(
    of_two_at_a_time: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = of_two_at_a_time

    async def failing(*_: Any) -> Any:
        raise StorageUnreachable("The server was stopped.")

    with monkeypatch.context() as once:
        once.setattr(recall_cache, "_whole", failing)
        with pytest.raises(StorageUnreachable):
            await finds(resources, 0, in_part=False)
    assert await finds(resources, 0, in_part=False) == (True, False)


def parameter(resources: Resources) -> str:
    """How a statement asks for the user."""
    return "%(user_id)s" if resources.database.kind == "postgres" else ":user_id"
