"""A changed embedding model is noticed, and everything is re-embedded, even when that is killed in the middle."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import psycopg
import pytest
from command import EVERTHREAD, run_process
from conversation import say
from fakes.embeddings import SIZE, SLOW
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage

from everthread import EmbeddingError, Settings, Summary, open_graph
from everthread.maintenance.bulk_embedding import BulkEmbedding
from everthread.maintenance.reindex import Reindex
from everthread.memory.changed_model import changed_model
from everthread.memory.vectors import VectorIndex
from everthread.models.embeddings import Embedder
from everthread.storage.archive import Archive
from everthread.storage.postgres.database import Database
from everthread.storage.user_rows import UserRows


class Named(DeterministicFakeEmbedding):
    """A fake model with a name, which can be made to fail after a number of texts."""

    model_name: str = "fake"
    texts_left: int = 10**9

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts_left -= len(texts)
        if self.texts_left < 0:
            raise RuntimeError("the power is out")
        return super().embed_documents(texts)


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[Database]:
    opened = Database(settings)
    yield opened
    await opened.close()


def embedder(name: str, size: int = 8, **more: Any) -> Embedder:
    return Embedder(name, Named(size=size, model_name=name, **more))


async def fill(database: Database, user: str, with_: Embedder, count: int = 6) -> None:
    archive = Archive(UserRows(database, user))
    said = [(AIMessage if n % 2 else HumanMessage)(f"Remark {n} of {user}.", id=f"m{n}") for n in range(count)]
    await archive.add_messages(f"t-{user}", said)
    await archive.add_messages(f"t-{user}", [HumanMessage("A long remark on the weather. " * 60, id="long")])
    await archive.add_summary(f"t-{user}", Summary(id="s", content="Remarks.", level=1, source_ids=("m0",)))
    await BulkEmbedding(UserRows(database, user), with_, which="pending", timeout=60).run()


async def vectors(settings: Settings, user: str) -> Counter[tuple[str, int]]:
    """How many vectors the user has, by model and dimensions."""
    assert settings.database_url is not None
    async with await psycopg.AsyncConnection.connect(settings.database_url.get_secret_value()) as connection:
        cursor = await connection.execute(
            f'SELECT model, public.vector_dims(embedding) FROM "{settings.database_schema}".vectors WHERE user_id = %s',
            (user,),
        )
        return Counter(await cursor.fetchall())


async def test_everything_of_this_user_is_embedded_anew_and_the_old_vectors_go(
    database: Database, settings: Settings
) -> None:
    old, new = embedder("old", 8), embedder("new", 16)
    await fill(database, "ada", old)
    await fill(database, "bob", old)
    before = await vectors(settings, "ada")
    told: list[int] = []
    work = Reindex(UserRows(database, "ada"), new, timeout=60, advance=told.append)
    assert await work.start() == 8
    assert await work.run() == sum(told) == 8
    assert await vectors(settings, "ada") == {("new", 16): before["old", 8]}
    assert list(await vectors(settings, "bob")) == [("old", 8)]
    assert await work.start() == await work.run() == 0
    assert await changed_model(UserRows(database, "ada"), new, timeout=60) is None


async def test_a_change_is_noticed_with_names_and_dimensions(database: Database) -> None:
    old, new = embedder("old", 8), embedder("new", 16)
    assert await changed_model(UserRows(database, "ada"), new, timeout=60) is None
    await fill(database, "ada", old)
    for wait in (True, False):
        found = await changed_model(UserRows(database, "ada"), new, timeout=60, wait=wait)
        assert str(found).startswith(
            "The embedding model has changed from 'old' (8 dimensions) to 'new' (16 dimensions): "
        )
        assert "`everthread reindex`" in str(found)
    assert await changed_model(UserRows(database, "ada"), old, timeout=60) is None
    assert await changed_model(UserRows(database, "bob"), new, timeout=60) is None


async def test_vectors_that_an_earlier_version_made_otherwise_are_those_of_another_model(
    database: Database, settings: Settings
) -> None:
    """Those of the multilingual model were made before without taking the directions of languages off."""
    today, rows = embedder("multilingual-e5-small"), UserRows(database, "ada")
    await fill(database, "ada", today)
    assert await changed_model(rows, today, timeout=10) is None
    assert settings.database_url is not None
    async with await psycopg.AsyncConnection.connect(settings.database_url.get_secret_value()) as connection:
        before = "multilingual-e5-small"
        await connection.execute(f'UPDATE "{settings.database_schema}".vectors SET model = %s', (before,))
    changed = await changed_model(rows, today, timeout=10)
    assert changed is not None
    assert changed.old == before


async def test_a_model_that_keeps_its_name_but_not_its_size_is_noticed_and_replaced(
    database: Database, settings: Settings
) -> None:
    await fill(database, "ada", embedder("same", 8))
    bigger = embedder("same", 16)
    found = await changed_model(UserRows(database, "ada"), bigger, timeout=60)
    assert "'same' (8 dimensions) to 'same' (16 dimensions)" in str(found)
    before = await vectors(settings, "ada")
    work = Reindex(UserRows(database, "ada"), bigger, timeout=60)
    assert await work.start() == await work.run() == 8
    assert await vectors(settings, "ada") == {("same", 16): before["same", 8]}


async def test_a_failure_in_the_middle_keeps_what_was_done_and_all_of_the_old_model(
    database: Database, settings: Settings
) -> None:
    await fill(database, "ada", embedder("old"), count=600)
    before = await vectors(settings, "ada")
    failing = embedder("new", texts_left=300)
    with pytest.raises(EmbeddingError, match="the power is out"):
        await Reindex(UserRows(database, "ada"), failing, timeout=60).run()
    half = await vectors(settings, "ada")
    assert 128 <= half["new", 8] <= 300
    assert half["old", 8] == before["old", 8]
    left = await Reindex(UserRows(database, "ada"), embedder("new"), timeout=60).start()
    assert left == 602 - half["new", 8]
    assert await Reindex(UserRows(database, "ada"), embedder("new"), timeout=60).run() == left
    assert list(await vectors(settings, "ada")) == [("new", 8)]


async def test_vectors_that_an_old_process_added_late_go_as_well(database: Database, settings: Settings) -> None:
    await fill(database, "ada", embedder("old"))
    await Reindex(UserRows(database, "ada"), embedder("new"), timeout=60).run()
    assert settings.database_url is not None
    async with await psycopg.AsyncConnection.connect(settings.database_url.get_secret_value()) as connection:
        await connection.execute(
            f'INSERT INTO "{settings.database_schema}".vectors SELECT gen_random_uuid(), content, embedding, '
            f"langchain_metadata, user_id, thread_id, source_type, source_id, role, 'old', created_at "
            f'FROM "{settings.database_schema}".vectors LIMIT 3'
        )
    assert await changed_model(UserRows(database, "ada"), embedder("new"), timeout=60)
    await Reindex(UserRows(database, "ada"), embedder("new"), timeout=60).run()
    assert list(await vectors(settings, "ada")) == [("new", 8)]


async def test_opening_warns_in_one_sentence_of_the_log(
    reopen: Callable[..., open_graph], settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async with reopen(embeddings=Named(size=8, model_name="old")) as graph:
        await say(graph, "The tomatoes need water.", user=settings.user_id)
    with caplog.at_level(logging.WARNING, logger="everthread"):
        async with reopen(embeddings=Named(size=16, model_name="new")):
            await until(lambda: bool(caplog.records))
    (record,) = caplog.records
    assert "from 'old' (8 dimensions) to 'new' (16 dimensions)" in record.getMessage()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not true():
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_while_another_process_moves_to_a_new_model_the_old_index_serves(
    database: Database, settings: Settings, environment: dict[str, str]
) -> None:
    environment["EVERTHREAD_EMBEDDING_MODEL"] = SLOW.model_name
    ada, old = settings.user_id, embedder("old")
    await fill(database, ada, old, count=200)
    before = await vectors(settings, ada)
    process = await asyncio.to_thread(
        lambda: subprocess.Popen([EVERTHREAD, "reindex"], env=environment, stdout=subprocess.DEVNULL)
    )
    async with asyncio.timeout(120):
        while not (during := await vectors(settings, ada))[SLOW.model_name, SIZE]:
            await asyncio.sleep(0.02)
    sources = [(f"t-{ada}", f"m{n}") for n in range(200)]
    found = await VectorIndex(UserRows(database, ada), old).passages("Remark 7.", sources, timeout=60)
    assert process.poll() is None
    assert during["old", 8] == before["old", 8]
    assert set(found) == set(sources)
    assert await asyncio.to_thread(process.wait) == 0
    assert list(await vectors(settings, ada)) == [(SLOW.model_name, SIZE)]


@pytest.mark.slow
async def test_killed_in_the_middle_the_command_goes_on_where_it_was(
    database: Database, settings: Settings, environment: dict[str, str]
) -> None:
    environment["EVERTHREAD_EMBEDDING_MODEL"] = SLOW.model_name
    await fill(database, settings.user_id, embedder("old"), count=500)
    process = await asyncio.to_thread(
        lambda: subprocess.Popen([EVERTHREAD, "reindex"], env=environment, stdout=subprocess.DEVNULL)
    )
    deadline = time.monotonic() + 120
    while (
        not (half := (await vectors(settings, settings.user_id))[SLOW.model_name, SIZE]) and time.monotonic() < deadline
    ):
        await asyncio.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.wait)
    assert half
    done = await asyncio.to_thread(run_process, environment, "reindex")
    assert done.returncode == 0, done.stderr
    assert "from 'old' (8 dimensions)" in done.stdout
    assert f"were embedded with {SLOW.model_name}" in done.stdout
    assert "502 messages" not in done.stdout
    assert list(await vectors(settings, settings.user_id)) == [(SLOW.model_name, SIZE)]
