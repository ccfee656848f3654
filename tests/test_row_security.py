"""The second wall on Postgres: the server itself keeps users apart, whatever a statement asks for."""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conversation import EchoModel, open_with, say
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage
from logins import login

from bench.server_folder import stop_server
from everthread import ConversationMemory, MemoryStore, Settings, StorageError, ThreadOwnershipError
from everthread.maintenance.transfer import export_rows, import_rows
from everthread.maintenance.transfer_format import check_file
from everthread.storage.archive import Archive
from everthread.storage.embedded.server import ensure_server
from everthread.storage.entering import across_users
from everthread.storage.postgres.database import Database
from everthread.storage.thread_copy import owner_of
from everthread.storage.user_rows import UserRows

OF_ANYBODY = "SELECT text FROM messages WHERE %(user_id)s <> '' ORDER BY text"
WITH_USER = """
SELECT c.relname AS name FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'user_id'
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'v')
"""


@pytest.fixture
async def database(owned: Settings) -> AsyncIterator[Database]:
    """What Ada and Bob said, a thread each."""
    opened = Database(owned)
    for user in ("ada", "bob"):
        said = [HumanMessage(f"I am {user}.", id="q"), AIMessage(f"Hello {user}.", id="a")]
        await Archive(UserRows(opened, user)).add_messages(f"of-{user}", said)
    yield opened
    await opened.close()


async def opened_and_closed(settings: Settings) -> None:
    database = Database(settings)
    await database.open()
    await database.close()


async def everything(database: Database, server_url: str, query: str) -> list[Any]:
    """Rows as a superuser has them, whom no policy binds."""
    async with await psycopg.AsyncConnection.connect(server_url) as connection:
        await connection.execute(f'SET search_path TO "{database.schema}", public'.encode())
        return await (await connection.execute(query.encode())).fetchall()


async def test_a_statement_without_the_condition_meets_the_rows_of_its_user_alone(database: Database) -> None:
    rows = UserRows(database, "ada")
    mine = [{"text": "Hello ada."}, {"text": "I am ada."}]
    assert database.row_security
    assert await rows.fetch(OF_ANYBODY) == mine
    assert await rows.transaction((OF_ANYBODY, {})) == mine
    assert await rows.fetch_each((OF_ANYBODY, {})) == [mine]
    assert await rows.tuples((OF_ANYBODY, {})) == [[("Hello ada.",), ("I am ada.",)]]
    assert await rows.exclusive(lambda exchange: exchange.fetch(OF_ANYBODY)) == mine
    assert await rows.snapshot(lambda snapshot: anext(snapshot.batches(OF_ANYBODY))) == mine


async def test_a_named_statement_that_lost_its_condition_meets_them_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = database.queries["archive.messages"].replace("user_id = %(user_id)s", "%(user_id)s::text IS NOT NULL")
    monkeypatch.setattr(database, "queries", {**database.queries, "archive.messages": broken})
    archive = Archive(UserRows(database, "ada"))
    assert await archive.messages("of-bob") == []
    assert [message.text for message in await archive.messages("of-ada")] == ["I am ada.", "Hello ada."]


async def test_no_table_shows_rows_of_another_user(owned: Settings, server_url: str, embeddings: Embeddings) -> None:
    async with open_with(owned, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        for n in range(30):
            await say(graph, f"Remark {n}: my sister Clara lives in house {n} of Porto. Remember that.", user="bob")
        await graph.asettled()
        await MemoryStore(ConversationMemory(graph.resources, "bob")).aput(("notes",), "n1", {"text": "Porto"})
        database: Any = graph.resources.database
        rows = UserRows(database, "ada")
        filled = set()
        for (name,) in await everything(database, server_url, WITH_USER):
            seen = await rows.fetch(f"SELECT count(*) AS n FROM {name} WHERE user_id <> %(user_id)s")
            assert seen == [{"n": 0}], name
            changed = (
                await rows.fetch(f"UPDATE {name} SET user_id = %(user_id)s RETURNING 1") if name != "summarized" else []
            )
            assert changed == [], name
            ((there,),) = await everything(database, server_url, f"SELECT count(*) FROM {name}")
            filled |= {name} if there else set()
        assert filled >= {
            "documents", "facts", "messages", "pins", "summaries", "summarized", "threads", "turn_reports", "vectors",
        }  # fmt: skip


async def test_nothing_is_written_for_another_user(database: Database, server_url: str) -> None:
    rows = UserRows(database, "ada")
    forged = "INSERT INTO pins SELECT 'bob', 'p', 'of-bob', %(user_id)s, 'manual', 1, 'q', now(), NULL"
    with pytest.raises(StorageError, match="row-level security"):
        await rows.fetch(forged)
    with pytest.raises(StorageError, match="row-level security"):
        await rows.fetch("UPDATE messages SET user_id = 'bob', thread_id = 'x' WHERE user_id = %(user_id)s")
    await rows.fetch("DELETE FROM messages WHERE %(user_id)s <> ''")
    assert await everything(database, server_url, "SELECT DISTINCT user_id FROM messages") == [("bob",)]
    assert await everything(database, server_url, "SELECT count(*) FROM pins") == [(0,)]


async def test_who_is_meant_ends_with_the_transaction(owned: Settings) -> None:
    database = Database(owned.but(pool_size=1, prepare_statements=False))
    whose = "SELECT current_setting('everthread.user_id', true) AS u, current_user::text AS r, session_user::text AS s"

    async def outside(connection: Any) -> Any:
        return await (await connection.execute(whose)).fetchone()

    before = await database.run(outside)
    inside = await UserRows(database, "ada").fetch(f"{whose} WHERE %(user_id)s <> ''")
    assert inside[0]["u"] == "ada"
    with pytest.raises(StorageError):
        await UserRows(database, "ada").fetch("SELECT 1 / (length(%(user_id)s) - 3)")
    after = await database.run(outside, one_statement=True)
    assert (after["u"] or None, after["r"]) == (None, after["s"])
    assert before["r"] == before["s"]
    await database.close()


async def test_whose_a_thread_is_may_be_asked_across_users_and_nothing_else(database: Database, tmp_path: Path) -> None:
    assert await owner_of(database, "of-bob") == "bob"
    ada = Archive(UserRows(database, "ada"))
    assert not await ada.has_thread("of-bob")
    with pytest.raises(ThreadOwnershipError):
        await ada.own_thread("of-bob")
    file = tmp_path / "bob.jsonl"
    await export_rows(UserRows(database, "bob"), file, written=lambda *_: None)
    with pytest.raises(ThreadOwnershipError):
        await import_rows(UserRows(database, "ada"), file, check_file(file), added=lambda _: None)
    with pytest.raises(StorageError, match="across users"):
        await across_users(database, "archive.messages", user_id="bob", thread_id="of-bob")


async def test_a_migration_meets_the_rows_of_all(owned: Settings, database: Database, server_url: str) -> None:
    await Archive(UserRows(database, "bob")).add_messages("of-bob", [HumanMessage("Öl", id="o")])
    with psycopg.connect(server_url) as connection:
        connection.execute(f"DELETE FROM {database.schema}.everthread_migrations WHERE version = 13".encode())
    again = Database(owned)
    await again.open()
    assert again.row_security
    assert await everything(again, server_url, "SELECT id FROM messages WHERE term_keys IS NULL") == [("o",)]
    assert len(await UserRows(again, "ada").fetch(OF_ANYBODY)) == 2
    await again.close()


async def test_a_table_that_a_later_version_adds_is_walled_at_the_next_start(
    owned: Settings, database: Database, server_url: str
) -> None:
    async def add(connection: Any) -> None:
        await connection.execute("CREATE TABLE later (user_id text)")
        await connection.execute("INSERT INTO later VALUES ('bob')")

    await database.run(add)
    again = Database(owned)
    assert await UserRows(again, "ada").fetch("SELECT * FROM later WHERE %(user_id)s <> ''") == []
    await again.close()


async def test_checkpoints_of_others_are_out_of_reach_where_the_login_is_a_superuser(
    settings: Settings, server_url: str, embeddings: Embeddings
) -> None:
    async with open_with(settings, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        await say(graph, "I am Bob.", to="of-bob", user="bob")
        await say(graph, "I am Ada.", to="of-ada", user="ada")
        database: Any = graph.resources.database
        rows = UserRows(database, "ada")
        for name in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            query = f"SELECT DISTINCT thread_id FROM {name} WHERE %(user_id)s <> ''"
            assert await rows.fetch(query) == [{"thread_id": "of-ada"}]
            await rows.fetch(f"DELETE FROM {name} WHERE %(user_id)s <> ''")
        assert (await graph.aget_state({"configurable": {"thread_id": "of-bob"}})).values["messages"]
        assert not (await graph.aget_state({"configurable": {"thread_id": "of-ada"}})).values


async def test_a_login_that_no_policy_binds_and_that_may_make_no_role_is_told(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with login(settings, "BYPASSRLS NOCREATEROLE") as own, caplog.at_level(logging.WARNING):
        database = Database(own)
        await Archive(UserRows(database, "ada")).add_messages("t", [HumanMessage("Still works.", id="q")])
        assert not database.row_security
        assert [r.message for r in caplog.records if "does not keep users apart" in r.message]
        await database.close()


async def test_a_login_that_no_policy_binds_works_as_the_role_that_an_administrator_lends_it(
    settings: Settings,
) -> None:
    await opened_and_closed(settings)  # which makes the role
    with login(settings, "BYPASSRLS NOCREATEROLE IN ROLE everthread_rows") as own:
        lent = Database(own)
        await Archive(UserRows(lent, "ada")).add_messages("t", [HumanMessage("Mine.", id="q")])
        await Archive(UserRows(lent, "bob")).add_messages("u", [HumanMessage("His.", id="q")])
        assert lent.row_security
        assert await UserRows(lent, "ada").fetch(OF_ANYBODY) == [{"text": "Mine."}]
        await lent.close()


@pytest.mark.slow
async def test_processes_that_start_at_once_on_a_new_server_make_one_role() -> None:
    folder = Path(tempfile.mkdtemp(prefix="everthread-tests-"))
    folder.chmod(0o711)
    url = await asyncio.to_thread(ensure_server, folder)
    databases = [Database(Settings(database_url=url, database_schema=f"s{n % 3}")) for n in range(6)]
    await asyncio.gather(*(database.open() for database in databases))
    assert all(database.row_security for database in databases)
    for database in databases:
        await database.close()
    stop_server(folder)
    shutil.rmtree(folder, ignore_errors=True)
