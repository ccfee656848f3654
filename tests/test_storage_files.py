"""What is particular to files: WAL, locks, crashes, damage, full disks, versions."""

from __future__ import annotations

import asyncio
import errno
import json
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from conversation import EchoModel, open_with, say, thread
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.conformance import checkpointer_test, validate
from test_storages import in_another_process

from everthread import Settings, StorageError, open_graph
from everthread.graph.conversation import Conversation
from everthread.runtime.resources import Resources
from everthread.storage.json import database as json_database
from everthread.storage.json.file import write
from everthread.storage.open import checkpointer_of, storage_of
from everthread.storage.sqlite import migrate


@pytest.fixture
def sqlite(settings: Settings, tmp_path: Path) -> Settings:
    return settings.but(database_url="sqlite", data_dir=tmp_path)


@pytest.fixture
def as_json(settings: Settings, tmp_path: Path) -> Settings:
    return settings.but(database_url="json", data_dir=tmp_path)


def graph_on(stored: Settings, **values: Any) -> open_graph:
    embeddings = DeterministicFakeEmbedding(size=8)
    return open_with(stored, **{"model": EchoModel(prompts=[]), "embeddings": embeddings, **values})


@pytest.mark.parametrize("kind", ["sqlite", "json"])
async def test_checkpoints_pass_the_conformance_suite_in_full(kind: str, settings: Settings, tmp_path: Path) -> None:
    storage = storage_of(settings.but(database_url=kind, data_dir=tmp_path))

    @checkpointer_test(name="everthread")
    async def checkpointer() -> Any:
        yield checkpointer_of(storage)

    report = await validate(checkpointer)
    await storage.close()
    assert report.passed_all(), report.to_dict()


# --- SQLite


async def test_sqlite_is_in_wal_mode_and_its_owners_alone(sqlite: Settings, tmp_path: Path) -> None:
    """Seed 003, "Data Durability"."""
    async with graph_on(sqlite) as graph:
        await say(graph, "hello")
        with sqlite3.connect(tmp_path / "memory.db") as outside:
            assert outside.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert outside.execute("SELECT count(*) FROM messages").fetchone() == (2,)
    assert (tmp_path / "memory.db").stat().st_mode & 0o077 == 0


async def test_writers_in_one_thread_and_in_many_lose_nothing(sqlite: Settings) -> None:
    writers = [Resources(sqlite, embeddings=DeterministicFakeEmbedding(size=8)) for _ in range(3)]

    async def write(writer: int, n: int) -> None:
        said = [HumanMessage(f"Remark {n} of {writer}.", id=f"{writer}-{n}")]
        await writers[writer].of_user("ada").archive.add_messages(f"t{n % 2}", said)
        await writers[writer].of_user("ada").vectors.embed_pending(timeout=60)

    await asyncio.gather(*(write(writer, n) for writer in range(3) for n in range(12)))
    for name in ("t0", "t1"):
        kept = await writers[0].of_user("ada").archive.messages(name)
        assert [message.seq for message in kept] == list(range(1, 19))
    found = await writers[1].of_user("ada").search.find("now", "Remark 7 of 2", limit=99, threshold=0.0, timeout=60)
    assert found.error is None
    assert len(found.hits) == 36
    for writer in writers:
        await writer.close()


async def test_a_new_file_that_another_is_writing_to_is_waited_for(sqlite: Settings, tmp_path: Path) -> None:
    """SQLite does not wait by itself where a file is switched to WAL mode while another begins to write."""
    other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE of_another (x)")
    other.execute("BEGIN IMMEDIATE")
    resources = Resources(sqlite, embeddings=DeterministicFakeEmbedding(size=8))
    archive = resources.of_user("ada").archive
    asyncio.get_running_loop().call_later(1, other.execute, "ROLLBACK")
    await archive.add_messages("t1", [HumanMessage("hello", id="1")])
    assert not other.in_transaction
    await resources.close()
    other.close()


@pytest.mark.slow
async def test_two_processes_talk_in_one_thread_in_turn(sqlite: Settings, tmp_path: Path) -> None:
    work = 'for n in range(5):\n    await say(graph, f"Remark {n} of the other.")'
    other = in_another_process(sqlite, work)
    async with graph_on(sqlite) as graph:
        for n in range(5):
            await say(graph, f"Remark {n} of this one.")
        _, told = await asyncio.to_thread(other.communicate)
        assert other.returncode == 0, told
        kept = await graph.resources.of_user("ada").archive.messages("t1")  # type: ignore[attr-defined]
        state = (await graph.aget_state(thread())).values
    assert len(kept) == 20
    assert [message.role for message in kept] == ["user", "assistant"] * 10
    assert {message.text for message in kept[::2]} == {
        f"Remark {n} of {whose}." for n in range(5) for whose in ("this one", "the other")
    }
    assert state["messages"][-1].content == kept[-1].text
    assert list((tmp_path / "memory.db.locks").iterdir()) == []


async def test_a_file_of_a_newer_version_and_one_that_is_no_database_are_left_alone(
    sqlite: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "memory.db"
    with sqlite3.connect(file) as newer:
        newer.execute("PRAGMA user_version = 99")
    with pytest.raises(StorageError, match="version 99, which this everthread does not know: upgrade it"):
        await storage_of(sqlite).open()
    for left in tmp_path.iterdir():
        left.unlink()
    file.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(StorageError, match="is damaged or no SQLite database: put a backup in its place"):
        await storage_of(sqlite).open()
    assert file.read_bytes() == b"Dear diary, " * 1000


async def test_a_step_of_the_tables_with_a_lower_number_that_arrives_later_is_done(
    sqlite: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = await asyncio.to_thread(migrate._steps)

    async def opened_with(more: dict[int, str]) -> set[str]:
        monkeypatch.setattr(migrate, "_steps", lambda: steps | more)
        database = storage_of(sqlite)
        await database.open()
        await database.close()
        with sqlite3.connect(tmp_path / "memory.db") as connection:
            return {name for (name,) in connection.execute("SELECT name FROM sqlite_master") if "step" in name}

    later, earlier = {1002: "CREATE TABLE later_step (n);\n"}, {1001: "CREATE TABLE earlier_step (n);\n"}
    assert await opened_with({}) == set()
    assert await opened_with(later) == {"later_step"}
    assert await opened_with(later | earlier) == {"later_step", "earlier_step"}
    assert await opened_with(later | earlier) == {"later_step", "earlier_step"}
    with pytest.raises(StorageError, match="version 1002, which this everthread does not know: upgrade it"):
        await opened_with(earlier)


async def test_a_folder_that_cannot_be_made_is_told(sqlite: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be used: Not a directory"):
        await storage_of(sqlite.but(data_dir=tmp_path / "file" / "folder")).open()


# --- JSON


async def test_json_can_be_read_and_shows_what_was_said(as_json: Settings, tmp_path: Path) -> None:
    async with graph_on(as_json) as graph:
        await say(graph, "Straße, 你好.")
    file = tmp_path / "memory.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    assert (content["format"], content["version"]) == ("everthread", 3)
    first = content["messages"]["ada"][0]
    assert (first["role"], first["text"], first["facts_read"]) == ("user", "Straße, 你好.", True)
    assert "你好" in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.slow
async def test_json_whose_writer_dies_before_the_rename_is_the_old_version(as_json: Settings, tmp_path: Path) -> None:
    """Seed 003, "Atomic Writes"."""
    async with graph_on(as_json) as graph:
        await say(graph, "Before.")
    file = tmp_path / "memory.json"
    before = file.read_bytes()
    work = (
        "import os, pathlib, signal\n"
        "pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        'await say(graph, "Lost.")'
    )
    other = in_another_process(as_json, work)
    _, told = await asyncio.to_thread(other.communicate)
    assert other.returncode == -signal.SIGKILL, told
    assert (tmp_path / "memory.json.tmp").exists()
    assert file.read_bytes() == before
    async with graph_on(as_json) as graph:
        state = await say(graph, "After.")
    assert [message.content for message in state["messages"]] == [
        "Before.", "You said: Before.", "After.", "You said: After.",
    ]  # fmt: skip


@pytest.mark.parametrize("damage", [0, 300, -10])
async def test_json_that_is_cut_off_is_told_with_its_backup_and_left_alone(
    as_json: Settings, tmp_path: Path, damage: int
) -> None:
    async with graph_on(as_json) as graph:
        await say(graph, "One.")
        await say(graph, "Two.")
    file, backup = tmp_path / "memory.json", tmp_path / "memory.json.bak"
    cut = file.read_bytes()[:damage]
    file.write_bytes(cut)
    with pytest.raises(StorageError, match=r"memory\.json is damaged .* `cp .*memory\.json\.bak .*memory\.json`"):
        await storage_of(as_json).open()
    assert file.read_bytes() == cut
    backup.replace(file)
    async with graph_on(as_json) as graph:
        state = await say(graph, "Three.")
    assert "One." in [message.content for message in state["messages"]]


@pytest.mark.parametrize(
    "content",
    ["[]", '{"version": 1}', '{"format": "x", "version": 1}', '{"format": "everthread", "version": 1, "messages": [1]}',
     "\udcff"],
)  # fmt: skip
async def test_json_of_another_shape_is_told_and_left_alone(as_json: Settings, tmp_path: Path, content: str) -> None:
    file = tmp_path / "memory.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(StorageError, match=r"is damaged .* put a backup in its place"):
        await storage_of(as_json).open()
    assert [path.name for path in tmp_path.iterdir()] == ["memory.json"]


async def test_json_of_a_newer_version_or_without_its_file_is_told(as_json: Settings, tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    file.write_text('{"format": "everthread", "version": 4}')
    with pytest.raises(StorageError, match="version 4, which this everthread does not know: upgrade it"):
        await storage_of(as_json).open()
    file.rename(tmp_path / "memory.json.bak")
    with pytest.raises(StorageError, match="is not there, but the version before it is"):
        await storage_of(as_json).open()


async def test_json_of_an_earlier_version_has_the_vectors_of_tool_calls_made_again(
    as_json: Settings, tmp_path: Path
) -> None:
    class Recording(DeterministicFakeEmbedding):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            seen.extend(texts)
            return super().embed_documents(texts)

    seen: list[str] = []
    call = AIMessage("", tool_calls=[{"name": "send_invoice", "args": {"to": "Brown"}, "id": "c1"}], id="call")
    for version in (None, 3, 2):
        seen.clear()
        file = tmp_path / "memory.json"
        if version is not None:
            content = json.loads(file.read_text())
            file.write_text(json.dumps(content | {"version": version}))
        resources = Resources(as_json, embeddings=Recording(size=8))
        user = resources.of_user("ada")
        if version is None:
            await user.archive.add_messages("t1", [HumanMessage("The bill, please.", id="m1"), call])
        await user.vectors.embed_pending(timeout=60)
        await resources.close()
        assert sorted("invoice" in text for text in seen) == {None: [False, True], 3: [], 2: [True]}[version]


async def test_json_takes_one_writer_and_any_number_of_readers(as_json: Settings) -> None:
    async with graph_on(as_json) as graph:
        await say(graph, "hello")
        with pytest.raises(StorageError, match=r"is in use by the process \d+, and a JSON file takes one at a time"):
            await storage_of(as_json).open()
        reader = Resources(as_json, embeddings=DeterministicFakeEmbedding(size=8))
        assert [message.text for message in await reader.of_user("ada").archive.messages("t1")] == [
            "hello",
            "You said: hello",
        ]
        with pytest.raises(StorageError, match="is in use by the process"):
            await reader.of_user("ada").archive.add_messages("t1", [HumanMessage("no", id="no")])
        await reader.close()
    async with graph_on(as_json) as graph:
        assert len((await say(graph, "again"))["messages"]) == 4


async def test_json_on_a_full_disk_talks_on_in_memory_and_is_written_later(
    as_json: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Seed 003, "Storage Failures": goes on in memory, the user is told, the next operation tries again."""
    async with graph_on(as_json) as graph:
        await say(graph, "One.")
        before = (tmp_path / "memory.json").read_bytes()

        def full(*_: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(json_database, "write", full)
            state = await say(graph, "Two.")
            assert state["messages"][-1].content == "You said: Two."
            assert "cannot be written (No space left on device)" in state["after_reply"].error
        assert (tmp_path / "memory.json").read_bytes() == before
        assert [record.name for record in caplog.records if "cannot be written" in record.message] == [
            "everthread.storage.json.database"
        ], "told once, however often it was tried"
        assert (await say(graph, "Three."))["after_reply"].error is None
    async with graph_on(as_json) as graph:
        kept = await graph.resources.of_user("ada").archive.messages("t1")  # type: ignore[attr-defined]
    assert [message.text for message in kept][::2] == ["One.", "Two.", "Three."]


@pytest.mark.slow
async def test_json_whose_writer_dies_while_the_model_answers_has_the_question(as_json: Settings) -> None:
    work = (
        "import os, signal\n"
        "EchoModel._generate = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        'await say(graph, "Do not lose this.")'
    )
    other = in_another_process(as_json, work)
    _, told = await asyncio.to_thread(other.communicate)
    assert other.returncode == -signal.SIGKILL, told
    async with graph_on(as_json) as graph:
        state = await graph.ainvoke(None, thread(), context={"user_id": "ada"})
    assert [message.content for message in state["messages"]] == ["Do not lose this.", "You said: Do not lose this."]


async def test_json_has_the_whole_turn_when_it_is_over(as_json: Settings, tmp_path: Path) -> None:
    async with graph_on(as_json) as graph:
        state = await say(graph, "One.")
        (tmp_path / "copy").mkdir()
        shutil.copy(tmp_path / "memory.json", tmp_path / "copy")
    async with graph_on(as_json.but(data_dir=tmp_path / "copy")) as graph:
        found = await graph.aget_state(thread())
    assert found.next == ()
    assert found.values["messages"] == state["messages"]


async def test_json_is_written_as_if_every_row_were_new(as_json: Settings, tmp_path: Path) -> None:
    """Lines of rows that did not change are kept from one writing to the next."""
    async with graph_on(as_json) as graph:
        for n in range(4):
            await say(graph, f"I live in town {n}.")
        await say(graph, "Something else.", to="t2")
        assert isinstance(graph, Conversation)
        await graph.adelete("ada", "t2")
        await say(graph, "One more.")
        await graph.asettled()
        database: Any = graph.resources.database
        await database.on_thread(lambda connection: write(connection, tmp_path / "anew.json", [], {}))
        assert (tmp_path / "anew.json").read_bytes() == (tmp_path / "memory.json").read_bytes()


@pytest.mark.slow
async def test_json_keeps_the_newest_checkpoint_of_a_thread(as_json: Settings, tmp_path: Path) -> None:
    async with graph_on(as_json) as graph:
        for n in range(33):
            await say(graph, f"Remark {n}.")
        assert len([found async for found in graph.checkpointer.alist(thread())]) == 16  # type: ignore[union-attr]
    content = json.loads((tmp_path / "memory.json").read_text(encoding="utf-8"))
    assert len(content["checkpoints"]["t1"]) == 1
