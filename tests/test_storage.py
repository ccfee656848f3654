"""Storage: migrations from two processes at once, a killed server, a full disk, what other LangChain code can read."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conversation import EchoModel, FailingEmbeddings, counting_model, say
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from langchain_postgres import PGEngine, PGVectorStore

from bench.server_folder import stop_server
from everthread import Settings, StorageError, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.state.errors import StorageFull
from everthread.storage.archive import Archive
from everthread.storage.embedded.server import ensure_server
from everthread.storage.postgres.database import Database
from everthread.storage.postgres.migrate import migrations
from everthread.storage.user_rows import UserRows

OPEN = """
import asyncio, sys
from everthread.storage.postgres.database import Database
from everthread.settings.settings import Settings
async def main():
    database = Database(Settings())
    await database.open()
    await database.close()
asyncio.run(main())
"""


DROP = """
import asyncio, gc
from everthread.storage.postgres.database import Database
from everthread.settings.settings import Settings
async def main():
    dropped, kept = Database(Settings()), Database(Settings())
    await dropped.open()
    await kept.open()
    del dropped
    gc.collect()
    return kept
kept = asyncio.run(main())
"""


def test_what_nobody_closed_is_closed_without_a_word(environment: dict[str, str]) -> None:
    """A database that nobody has any more, and one at the end of the process."""
    done = subprocess.run([sys.executable, "-c", DROP], env=environment, stderr=subprocess.PIPE, check=True)
    assert done.stderr == b""


@pytest.mark.slow
def test_processes_that_start_at_once_migrate_once(
    environment: dict[str, str], settings: Settings, new_schema: str
) -> None:
    """Reports hindsight #3396, #3245, #3543: deadlocks from concurrent DDL."""
    environment["EVERTHREAD_DATABASE_SCHEMA"] = new_schema
    starts = [subprocess.Popen([sys.executable, "-c", OPEN], env=environment, stderr=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate(timeout=600)[1] for process in starts] == [b""] * 4
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.get_secret_value()) as connection:
        table = f"{new_schema}.everthread_migrations"
        assert connection.execute(f"SELECT version FROM {table} ORDER BY version").fetchall() == [
            (step.version,) for step in migrations()
        ]


async def test_a_schema_of_a_newer_version_is_refused(settings: Settings) -> None:
    database = Database(settings)
    await database.open()
    await database.close()
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:
        connection.execute(f"INSERT INTO {settings.database_schema}.everthread_migrations VALUES (999, 'future')")
    with pytest.raises(StorageError, match="at version 999, which this everthread does not know: upgrade it"):
        await Database(settings).open()


async def test_writers_in_one_thread_and_in_many_neither_deadlock_nor_lose(settings: Settings) -> None:
    archive = Archive(UserRows(Database(settings), "ada"))
    batches = [
        archive.add_messages(f"t{n % 3}", [HumanMessage(f"{n}.{k}", id=f"{n}.{k}") for k in range(5)])
        for n in range(30)
    ]
    assert sum(map(len, await asyncio.gather(*batches))) == 150
    for name in ("t0", "t1", "t2"):
        assert [message.seq for message in await archive.messages(name)] == list(range(1, 51))


def postmaster(folder: Path) -> int:
    return int(next(folder.glob("pg*/postmaster.pid")).read_text().split()[0])


@pytest.mark.slow
async def test_a_server_killed_between_two_turns_comes_back_with_everything(
    own_server: Path, embeddings: Embeddings
) -> None:
    own = Settings(data_dir=own_server, web_search="off")
    opened = open_graph(own, model=EchoModel(prompts=[]), embeddings=embeddings)
    async with opened as graph:
        await say(graph, "before")
        os.kill(postmaster(own_server), signal.SIGKILL)
        await say(graph, "after")
        async with asyncio.timeout(60):
            while opened.resources.away.count:  # the restart took longer than a turn waits
                await asyncio.sleep(0.1)
        archived = [message.text for message in await opened.resources.of_user("ada").archive.messages("t1")]
    assert archived == ["before", "You said: before", "after", "You said: after"]


async def talk_on(graph: CompiledConversation) -> str:
    """Talk until the end of a turn finds no room; what was said in it."""
    for n in range(40):
        text = f"{n} " + os.urandom(60_000).hex()
        if (await say(graph, text))["after_reply"].error is not None:
            return text
    raise AssertionError("the disk never was full")


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs to mount a small disk")
@pytest.mark.slow
async def test_a_full_disk_gives_one_sentence_and_loses_nothing_that_was_said(embeddings: Embeddings) -> None:
    disk = Path(tempfile.mkdtemp(prefix="everthread-disk-"))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    disk.chmod(0o711)
    folder = disk / "data"
    filler = disk / "filler"
    try:
        model = EchoModel(prompts=[])
        async with open_graph(Settings(data_dir=folder, web_search="off"), model=model, embeddings=embeddings) as graph:
            await say(graph, "kept")
            subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=64k"], check=False, capture_output=True)
            answered = await talk_on(graph)
            started = time.monotonic()
            with pytest.raises(StorageFull, match=r"disk is full.*Free some space") as caught:
                await say(graph, "and on")
            assert time.monotonic() - started < 60  # five minutes, were the server started again
            assert "\n" not in str(caught.value)
            filler.unlink()
            async with asyncio.timeout(60):
                while graph.resources.away.count:  # type: ignore[attr-defined]
                    await asyncio.sleep(0.1)
            archived = await graph.resources.of_user("ada").archive.messages("t1")  # type: ignore[attr-defined]
            assert [message.text for message in archived[2::2]] == [answered]
        async with open_graph(Settings(data_dir=folder, web_search="off"), model=model, embeddings=embeddings) as graph:
            state = await say(graph, "and on")
            assert state["messages"][0].content == "kept"
            assert state["after_reply"].error is None
    finally:
        await asyncio.to_thread(stop_server, folder)
        subprocess.run(["umount", "-l", str(disk)], check=False)
        disk.rmdir()


def stored(settings: Settings) -> int:
    assert settings.database_url is not None
    tables = ("checkpoint_blobs", "checkpoint_writes")
    with psycopg.connect(settings.database_url.get_secret_value()) as connection:
        query = "SELECT coalesce(sum(octet_length(blob)), 0) FROM {}.{}"
        return sum(int(connection.execute(query.format(settings.database_schema, t)).fetchone()[0]) for t in tables)  # type: ignore[index]


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 1_500_000}}],
        "x = 1\n" * 250_000,
    ],
    ids=["an image", "a long text"],
)
@pytest.mark.slow
async def test_what_is_heavy_does_not_stay_in_every_later_checkpoint(
    settings: Settings, reopen: Callable[..., open_graph], content: Any
) -> None:
    """Reports deer-flow #4138, #4189: base64 and big results in each checkpoint. The archive keeps them whole.

    It leaves the state with the turn that no longer fits into a megabyte beside it, and is sent in short.
    """
    model = EchoModel(prompts=[])
    async with reopen(model=model) as graph:
        state = await say(graph, {"messages": [HumanMessage(content, id="heavy")]})
        assert state["messages"][0].content == content
        await say(graph, "Remark 0.")
        for n in range(1, 4):
            before = stored(settings)
            state = await say(graph, f"Remark {n}.")
            assert stored(settings) - before < 60_000
            assert "heavy" not in [message.id for message in state["messages"]]
        assert sum(len(str(message.content)) for message in model.prompts[-1]) < 30_000
        (kept, *_) = await graph.resources.of_user("ada").archive.messages("t1")  # type: ignore[attr-defined]
    assert kept.message.content == content
    assert kept.left_at is None


async def test_other_langchain_code_reads_our_vectors(
    graph: CompiledConversation, settings: Settings, embeddings: Embeddings
) -> None:
    await say(graph, "My dog is called Biscuit.")
    await graph.asettled()  # type: ignore[attr-defined]
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value().replace("postgresql://", "postgresql+psycopg://")
    engine = PGEngine.from_connection_string(url)
    store = await PGVectorStore.create(
        engine, embeddings, "vectors", schema_name=settings.database_schema, id_column="langchain_id",
        metadata_columns=["user_id", "thread_id", "source_type", "role"], metadata_json_column="langchain_metadata",
    )  # fmt: skip
    (found,) = await store.asimilarity_search("What is the dog's name?", k=1, filter={"user_id": "ada", "role": "user"})
    await engine.close()
    assert found.page_content == "My dog is called Biscuit."
    assert found.metadata["conversation_id"] == "t1"
    assert found.metadata["source_type"] == "message"


async def test_a_failing_embedding_model_leaves_the_turn_without_memories_and_says_so(
    reopen: Callable[..., open_graph],
) -> None:
    async with reopen() as graph:
        await say(graph, "My dog is called Biscuit.", to="one")
    async with reopen(embeddings=FailingEmbeddings()) as graph:
        state = await say(graph, "What is my dog called?", to="two")
        assert "no room for the model" in state["recall"].error
        assert state["after_reply"].error is None
        assert state["messages"][-1].text.endswith("What is my dog called?")
    async with reopen(model=counting_model()) as graph:
        state = await say(graph, "What is my dog called?", to="three")
    assert "Biscuit" in str(state["recall"].memories)
    assert state["recall"].error is None


async def test_what_could_not_be_embedded_is_embedded_later(reopen: Callable[..., open_graph]) -> None:
    opened = reopen(embeddings=None, embedding_model="/nowhere/at/all")
    async with opened as graph:
        state = await say(graph, "My dog is called Biscuit.", to="one")
        assert state["after_reply"].archived == 2
    async with reopen() as graph:
        state = await say(graph, "What is my dog called?", to="two")
    assert "Biscuit" in state["recall"].memories[0].fragments[0].content


def test_the_server_url_of_a_session_is_shared(data_dir: Path, server_url: str) -> None:
    assert ensure_server(data_dir) == server_url
