"""Which rights a login needs, databases that take no writes, and servers that have no connection for us yet."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command import run_process
from conversation import EchoModel, say
from langchain_core.embeddings import Embeddings
from logins import login, url_of
from psycopg.conninfo import make_conninfo

from everthread import Settings, StorageError, open_graph
from everthread.doors.memory import ConversationMemory
from everthread.storage.postgres import migrate
from everthread.storage.postgres.database import Database

Administrate = Callable[[str], Any]


@pytest.fixture
def administrate(server_url: str) -> Iterator[Administrate]:
    """Runs a script as the server's administrator."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        yield lambda script: connection.execute(script.encode())


@contextmanager
def role(administrate: Administrate, server_url: str, rights: str = "") -> Iterator[tuple[str, str]]:
    """A login without rights beyond these: its name, and its URL."""
    name = f"app_{uuid.uuid4().hex[:12]}"
    administrate(f"CREATE ROLE {name} LOGIN PASSWORD 'x' NOSUPERUSER {rights}")
    yield name, make_conninfo(server_url, user=name, password="x", passfile="")
    administrate(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")


async def talks(settings: Settings, embeddings: Embeddings) -> None:
    async with open_graph(settings, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        for text in ("My dog is called Biscuit.", "What is my dog called?"):
            state = await say(graph, text)
            assert state["after_reply"].error is None
            assert state["recall"].error is None
        assert len(await graph.ahistory("ada", "t1")) == 4


async def test_an_administrator_makes_extension_and_schema_and_the_login_its_tables(
    administrate: Administrate, settings: Settings, server_url: str, embeddings: Embeddings
) -> None:
    """Reviewed: with both there, it was refused all the same, with the sentence that asks for them."""
    with role(administrate, server_url) as (name, url):
        administrate(f"CREATE SCHEMA {name} AUTHORIZATION {name}")
        await talks(settings.but(database_url=url, database_schema=name), embeddings)


async def test_without_a_schema_and_the_right_to_make_one_the_sentence_names_it(
    administrate: Administrate, settings: Settings, server_url: str
) -> None:
    with role(administrate, server_url) as (name, url):
        database = Database(settings.but(database_url=url, database_schema=name))
        with pytest.raises(StorageError, match=f"may not create schema '{name}'"):
            await database.open()


async def test_a_login_that_owns_no_table_needs_no_more_than_to_use_them(
    administrate: Administrate, settings: Settings, server_url: str, embeddings: Embeddings
) -> None:
    schema = settings.database_schema
    with role(administrate, server_url) as (name, url):
        administrate(f'GRANT USAGE ON SCHEMA "{schema}" TO {name}')
        administrate(f'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "{schema}" TO {name}')
        await talks(settings.but(database_url=url), embeddings)


async def test_pgvector_may_be_in_a_schema_of_its_own(
    administrate: Administrate, settings: Settings, server_url: str, embeddings: Embeddings
) -> None:
    name = f"vectors_{uuid.uuid4().hex[:12]}"
    administrate(f"CREATE DATABASE {name}")
    url = make_conninfo(server_url, dbname=name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA extensions")
        connection.execute("CREATE EXTENSION vector WITH SCHEMA extensions")
    try:
        await talks(settings.but(database_url=url, database_schema="everthread"), embeddings)
    finally:
        administrate(f"DROP DATABASE {name} WITH (FORCE)")


async def test_a_step_on_a_large_table_is_not_ended_by_a_timeout_for_statements(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with login(settings, "") as own:
        url = make_conninfo(url_of(own), options="-c statement_timeout=2s")
        slow = migrate.Migration(9_999, "slow", "SELECT pg_sleep(2.5)")
        steps = [*await asyncio.to_thread(migrate.migrations), slow]
        monkeypatch.setattr(migrate, "migrations", lambda: steps)
        database = Database(own.but(database_url=url))
        await database.open()
        with pytest.raises(StorageError, match="ended a statement: canceling statement due to statement timeout"):
            await database.run(lambda connection: connection.execute("SELECT pg_sleep(30)"))
        await database.close()


async def test_where_the_schema_of_pgvector_may_not_be_used_the_sentence_names_it(
    administrate: Administrate, settings: Settings, server_url: str
) -> None:
    with role(administrate, server_url) as (name, _):
        administrate(f"CREATE DATABASE {name}")
        try:
            with psycopg.connect(make_conninfo(server_url, dbname=name), autocommit=True) as connection:
                connection.execute("CREATE SCHEMA extensions; CREATE EXTENSION vector WITH SCHEMA extensions")
                connection.execute(f"CREATE SCHEMA everthread AUTHORIZATION {name}".encode())
            url = make_conninfo(server_url, dbname=name, user=name, password="x", passfile="")
            database = Database(settings.but(database_url=url, database_schema="everthread"))
            with pytest.raises(StorageError, match="may not use the schema 'extensions', in which pgvector is"):
                await database.open()
        finally:
            administrate(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.slow
async def test_a_database_that_takes_no_writes_is_read(
    administrate: Administrate,
    settings: Settings,
    server_url: str,
    embeddings: Embeddings,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    """As a standby is: `history`, `export` and `explain` work there, and what has its vectors is found."""
    await talks(settings, embeddings)
    schema = settings.database_schema
    administrate(f'DELETE FROM "{schema}".vectors WHERE ctid = (SELECT max(ctid) FROM "{schema}".vectors)')
    with role(administrate, server_url) as (name, url):
        administrate(f"ALTER ROLE {name} SET default_transaction_read_only = on")
        administrate(f'GRANT USAGE ON SCHEMA "{schema}" TO {name}')
        administrate(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {name}')
        standby = settings.but(database_url=url)
        async with open_graph(standby, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
            assert len(await graph.ahistory("ada", "t1")) == 4
            assert await ConversationMemory(graph.resources, "ada").arecall("Is my dog called Biscuit?")
            with pytest.raises(StorageError, match="takes no writes"):
                await say(graph, "Remember this.")
        environment = {**environment, "EVERTHREAD_DATABASE_URL": url, "EVERTHREAD_USER_ID": "ada"}
        for words in (("history", "t1"), ("explain", "t1"), ("doctor", "t1"), ("export", str(tmp_path / "ada.jsonl"))):
            ran = await asyncio.to_thread(run_process, environment, *words)
            assert (ran.returncode, "psycopg" in ran.stderr) == (words[0] == "doctor", False), ran.stderr
        ran = await asyncio.to_thread(run_process, environment, "chat", typed="Remember this.\n")
        assert (ran.returncode, ran.stderr) == (
            1,
            "everthread: The database takes no writes for now: is it a standby?\n",
        )
        assert "Biscuit" in (tmp_path / "ada.jsonl").read_text()


async def test_opening_retries_while_the_server_has_no_connection_to_give(
    administrate: Administrate, settings: Settings, server_url: str
) -> None:
    with role(administrate, server_url, "CONNECTION LIMIT 2") as (name, url):
        administrate(f"CREATE SCHEMA {name} AUTHORIZATION {name}")
        taken = [psycopg.connect(url) for _ in range(2)]
        database = Database(settings.but(database_url=url, database_schema=name, pool_size=2))
        opening = asyncio.create_task(database.open())
        await asyncio.sleep(1.5)
        assert not opening.done()
        for connection in taken:
            connection.close()
        await opening
        await database.close()
